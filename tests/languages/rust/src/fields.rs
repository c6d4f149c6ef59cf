// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Fields of options by the names that C gives them.

use gradstep::{Dtype, Schedule, StepOptions};

use crate::Result;
use crate::script::{Line, list};

/// What a field can hold.
pub(crate) trait Value: Sized {
    fn parse(text: &str) -> Result<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn parse(text: &str) -> Result<Self> {
                text.parse().map_err(|error| format!("{text:?}: {error}").into())
            }
        }
    )*};
}
numbers!(f64, i64, i32, usize);

impl Value for bool {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("{text:?}: expected 0 or 1").into()),
        }
    }
}

macro_rules! words {
    ($($name:ident { $($word:ident: $variant:ident),* $(,)? })*) => {$(
        impl Value for $name {
            fn parse(text: &str) -> Result<Self> {
                match text {
                    $(stringify!($word) => Ok(Self::$variant),)*
                    _ => Err(format!("{text:?}: expected one of {:?}", [$(stringify!($word)),*]).into()),
                }
            }
        }
    )*};
}
words! {
    Dtype { f32: F32, f64: F64, f16: F16, bf16: BF16 }
}

/// Options that lines describe.
pub(crate) trait Options: Default {
    fn set(self, field: &str, value: &str) -> Result<Self>;
}

/// The options of a line, whose keys are fields but for those of the call itself.
pub(crate) fn options_of<T: Options>(line: &Line, own: &[&str]) -> Result<T> {
    line.fields(own).try_fold(T::default(), |options, (field, value)| options.set(field, value))
}

macro_rules! fields {
    ($($options:ident { $($field:ident),* $(,)? })*) => {$(
        impl Options for $options {
            fn set(self, field: &str, value: &str) -> Result<Self> {
                match field {
                    $(stringify!($field) => Ok(self.$field(Value::parse(value)?)),)*
                    _ => Err(format!("{field:?} is no field of {}", stringify!($options)).into()),
                }
            }
        }
    )*};
}
pub(crate) use {fields, words};

impl Options for StepOptions<'_> {
    fn set(mut self, field: &str, value: &str) -> Result<Self> {
        match field {
            "skip_nonfinite" => self.skip_nonfinite = Value::parse(value)?,
            "grad_scale" => self.grad_scale = Some(Value::parse(value)?),
            "max_norm" => self.max_norm = Value::parse(value)?,
            "clip_value" => self.clip_value = Value::parse(value)?,
            _ => return Err(format!("{field:?} is no field of StepOptions").into()),
        }
        Ok(self)
    }
}

/// The schedule of a line, whose keys may have a prefix.
pub(crate) fn schedule_of(line: &Line, prefix: &str) -> Result<Schedule> {
    let get = |key: &str| line.get(&format!("{prefix}{key}"));
    let number = |key: &str, default: f64| get(key).map_or(Ok(default), f64::parse);
    let integer = |key: &str| get(key).map_or(Ok(0), i64::parse);
    let numbers = || list::<f64>(get("values").unwrap_or_default());
    let (first, last) = (number("init_value", 0.0)?, number("end_value", 0.0)?);
    let (steps, rate) = (integer("decay_steps")?, number("decay_rate", 0.0)?);
    let schedule = match get("kind").unwrap_or("constant") {
        "constant" => Schedule::constant(first),
        "exponential_decay" => Schedule::exponential_decay(first, rate, steps),
        "inverse_time" => Schedule::inverse_time(first, rate, steps),
        "polynomial" => Schedule::polynomial(first, last, steps, number("power", 1.0)?),
        "cosine" => Schedule::cosine(first, last, steps),
        "piecewise" => Schedule::piecewise(list::<i64>(get("boundaries").unwrap_or_default())?, numbers()?),
        "callback" => {
            let values = numbers()?;
            Schedule::try_function(move |t| {
                let value = usize::try_from(t).ok().and_then(|t| values.get(t)).copied();
                value.ok_or_else(|| gradstep::Error::Io("the callback has no more values".to_owned()))
            })
        }
        kind => return Err(format!("kind: {kind:?} is unknown").into()),
    };
    let staircase = get("staircase").map_or(Ok(false), bool::parse)?;
    Ok(schedule.staircase(staircase).warmup_steps(integer("warmup_steps")?))
}
