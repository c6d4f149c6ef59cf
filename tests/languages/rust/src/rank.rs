// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! One rank that makes the calls of a script.

use std::path::Path;

use gradstep::{
    AccumulationTrigger, Accumulator, Communicator, Context, Dtype, Error, LoadOptions, NamedRule, Optimizer, Reducer,
    Rows, Rule, StepOptions, Tensor,
};

use crate::Result;
use crate::arrays::{Array, bytes_of, tensors, tensors_mut};
use crate::data::{HASH_START, Kind, elements, hash_bytes};
use crate::fields::{Options, Value, options_of, schedule_of};
use crate::handles::Handles;
use crate::model::{GRADIENTS, Model};
use crate::script::{Line, Script, list};

pub(crate) struct Rank<'a> {
    context: &'a Context,
    comm: &'a Communicator,
    index: usize,
    model: Model<'a>,
    handles: Handles,
    saved: Vec<u8>,
    hash: u64,
}

impl<'a> Rank<'a> {
    pub(crate) fn new(directory: &'a Path, context: &'a Context, comm: &'a Communicator, index: usize) -> Self {
        Self {
            context,
            comm,
            index,
            model: Model::new(directory, index),
            handles: Handles::default(),
            saved: Vec::new(),
            hash: HASH_START,
        }
    }

    /// Makes all calls; the rank's hash.
    pub(crate) fn run(&mut self, script: &Script, trace: bool) -> Result<u64> {
        for line in &script.lines {
            let mut run = || {
                if line.call == "parameter" {
                    return self.model.add_parameter(line);
                }
                if line.value("only", self.index)? != self.index {
                    return Ok(());
                }
                for _ in 0..line.value("times", 1)? {
                    self.run_line(line)?;
                    if trace {
                        let (rank, hash) = (self.index, self.hash);
                        eprintln!("{} {rank} {} {} {hash:016x}", script.name, line.number, line.call);
                    }
                }
                Ok(())
            };
            run().map_err(|error| format!("{}.script:{}: {}: {error}", script.name, line.number, line.call))?;
        }
        Ok(self.hash)
    }

    /// Makes one call, which must end as the line says.
    fn run_line(&mut self, line: &Line) -> Result<()> {
        let ended = match self.make_call(line) {
            Ok(()) => Ok(()),
            // What is not gradstep's error is the script's.
            Err(error) => Err(*error.downcast::<Error>()?),
        };
        let found = ended.as_ref().err().map(Error::name);
        if found != line.get("fails") {
            let expected = line.get("fails").unwrap_or("OK");
            let found = ended.err().map_or("OK".to_owned(), |error| error.to_string());
            return Err(format!("expected {expected}, found {found}").into());
        }
        self.feed(&ended.err().map_or(0, |error| error.status()).to_le_bytes());
        Ok(())
    }

    fn make_call(&mut self, line: &Line) -> Result<()> {
        match line.call.as_str() {
            "sgd" => self.make_optimizer::<gradstep::Sgd>(line),
            "rmsprop" => self.make_optimizer::<gradstep::RmsProp>(line),
            "adagrad" => self.make_optimizer::<gradstep::AdaGrad>(line),
            "adam" => self.make_optimizer::<gradstep::Adam>(line),
            "shampoo" => self.make_optimizer::<gradstep::Shampoo>(line),
            "optimizer" => self.make_by_name(line),
            "accumulator" => self.make_accumulator(line),
            "reducer" => self.make_reducer(line),
            "updater" => self.handles.make_updater(self.context, &options_of(line, &[])?),
            "set" => self.set(line),
            "schedule" => self.schedule(line),
            "step" => self.step(line),
            "add" => self.add(line),
            "flush" => {
                let ready = self.handles.lend().accumulator()?.flush()?;
                self.feed_flag(ready)
            }
            "reset" => Ok(self.handles.lend().accumulator()?.reset()?),
            "reduce" => self.reduce(line),
            "exchange" => self.exchange(line),
            "push" => self.push(line),
            "finish" => {
                let applied = self.handles.updater()?.flush(&mut tensors_mut(&mut self.model.values)?)?;
                self.feed_flag(applied)
            }
            "save" => self.save(line),
            "load" => self.load(line),
            "parameters" => self.model.read_parameters(line.need("data")?),
            "hash" => self.hash(line),
            call => Err(format!("{call:?} is unknown").into()),
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.hash = hash_bytes(self.hash, bytes);
    }

    fn feed_flag(&mut self, flag: bool) -> Result<()> {
        self.feed(&i32::from(flag).to_le_bytes());
        Ok(())
    }

    fn make_optimizer<R: Rule + Options>(&mut self, line: &Line) -> Result<()> {
        let rule = options_of::<R>(line, &[])?;
        self.handles.optimizer = Some(Optimizer::new(self.context, &rule, &self.model.schema)?);
        Ok(())
    }

    /// Options are numbers where a value is one, else texts.
    fn make_by_name(&mut self, line: &Line) -> Result<()> {
        let rule = line.fields(&["rule"]).fold(NamedRule::new(line.need("rule")?), |rule, (name, value)| {
            match value.parse() {
                Ok(number) => rule.number(name, number),
                Err(_) => rule.text(name, value),
            }
        });
        self.handles.optimizer = Some(Optimizer::new(self.context, &rule, &self.model.schema)?);
        Ok(())
    }

    fn make_accumulator(&mut self, line: &Line) -> Result<()> {
        let own: Vec<_> = line.fields(&[]).map(|(key, _)| key).filter(|key| key.starts_with("schedule.")).collect();
        let options = options_of(line, &own)?;
        let schedule = match line.get("trigger").map(AccumulationTrigger::parse).transpose()? {
            Some(AccumulationTrigger::Schedule) => Some(schedule_of(line, "schedule.")?),
            _ => None,
        };
        self.handles.accumulator =
            Some(Accumulator::create(self.context, &options, schedule.as_ref(), None, &self.model.schema)?);
        Ok(())
    }

    fn make_reducer(&mut self, line: &Line) -> Result<()> {
        let options = options_of(line, &[])?;
        self.handles.reducer = Some(Reducer::new(self.context, self.comm, &options, &self.model.schema)?);
        Ok(())
    }

    /// The group of a call that may be for all of them.
    fn group(line: &Line) -> Result<Option<i32>> {
        let group = line.value("group", -1)?;
        Ok((group != -1).then_some(group))
    }

    fn set(&mut self, line: &Line) -> Result<()> {
        let value = f64::parse(line.need("value")?)?;
        Ok(self.handles.lend().optimizer()?.set_value(line.need("name")?, Self::group(line)?, value)?)
    }

    fn schedule(&mut self, line: &Line) -> Result<()> {
        let schedule = schedule_of(line, "")?;
        Ok(self.handles.lend().optimizer()?.set_schedule(line.need("name")?, Self::group(line)?, &schedule)?)
    }

    fn step(&mut self, line: &Line) -> Result<()> {
        let has_options = line.fields(&GRADIENTS).next().is_some();
        let options = has_options.then(|| options_of::<StepOptions<'_>>(line, &GRADIENTS)).transpose()?;
        let result = match line.get("from") {
            Some(name) => {
                let (optimizer, mut source) = self.handles.lend().optimizer_and_source(name)?;
                step(optimizer, &mut self.model.values, &source.gradients()?, options)?
            }
            None => {
                let grads = self.model.gradients(line)?;
                step(self.handles.lend().optimizer()?, &mut self.model.values, &tensors(&grads)?, options)?
            }
        };
        if let Some(result) = result {
            self.feed_flag(result.applied)?;
            self.feed(&number(result.grad_norm));
            self.feed(&number(result.clip_coefficient));
        }
        Ok(())
    }

    fn add(&mut self, line: &Line) -> Result<()> {
        let weight = line.value("weight", 1.0)?;
        let grads = self.model.gradients(line)?;
        let accumulator = self.handles.lend().accumulator()?;
        let ready = match line.get("rows").map(usize::parse).transpose()? {
            None => accumulator.add(&tensors(&grads)?, weight)?,
            Some(parameter) => {
                let indices = list::<i64>(line.need("indices")?)?;
                let mut shape = self.model.values[parameter].shape.clone();
                shape[0] = indices.len();
                let numbers = elements(Kind::Rows, [self.model.generated, self.index, parameter], false);
                let (values, count) = (Array::new(Dtype::F32, &shape, numbers)?, [indices.len()]);
                let rows = Rows { parameter, indices: Tensor::new(&indices, &count)?, values: values.tensor()? };
                accumulator.add_rows(&tensors(&grads)?, &[rows], weight)?
            }
        };
        self.feed_flag(ready)
    }

    fn reduce(&mut self, line: &Line) -> Result<()> {
        let weight = line.value("weight", 1.0)?;
        if line.get("from").is_some() {
            let (reducer, accumulator) = self.handles.lend().reducer_and_accumulator()?;
            return Ok(reducer.reduce(&accumulator.gradients()?, None, weight)?);
        }
        let grads = self.model.gradients(line)?;
        Ok(self.handles.lend().reducer()?.reduce(&tensors(&grads)?, None, weight)?)
    }

    fn exchange(&mut self, line: &Line) -> Result<()> {
        let (weight, grads) = (line.value("weight", 1.0)?, self.model.gradients(line)?);
        let reducer = self.handles.lend().reducer()?;
        reducer.begin(weight)?;
        for (i, grad) in grads.iter().enumerate().rev() {
            if let Some(grad) = grad {
                reducer.push(i, &grad.tensor()?)?;
            }
        }
        Ok(reducer.wait(None)?)
    }

    fn push(&mut self, line: &Line) -> Result<()> {
        let (weight, grads) = (line.value("weight", 1.0)?, self.model.gradients(line)?);
        let updater = self.handles.updater()?;
        let applied = updater.push(&mut tensors_mut(&mut self.model.values)?, &tensors(&grads)?, weight)?;
        self.feed_flag(applied)
    }

    fn save(&mut self, line: &Line) -> Result<()> {
        let mut saved = Vec::new();
        match line.need("handle")? {
            "optimizer" => self.handles.lend().optimizer()?.save_to(Some(&mut saved))?,
            "accumulator" => self.handles.lend().accumulator()?.save_to(Some(&mut saved))?,
            "reducer" => self.handles.lend().reducer()?.save_to(Some(&mut saved))?,
            "updater" => self.handles.updater()?.save_to(Some(&mut saved))?,
            handle => return Err(format!("handle: {handle:?} is unknown").into()),
        }
        self.saved = saved;
        Ok(())
    }

    fn load(&mut self, line: &Line) -> Result<()> {
        let (mut saved, options) = (&self.saved[..], LoadOptions::default());
        match line.need("handle")? {
            "optimizer" => self.handles.lend().optimizer()?.load_from(&mut saved, &options)?,
            "accumulator" => self.handles.lend().accumulator()?.load_from(&mut saved, &options)?,
            "reducer" => self.handles.lend().reducer()?.load_from(&mut saved, &options)?,
            "updater" => self.handles.updater()?.load_from(&mut saved, &options)?,
            handle => return Err(format!("handle: {handle:?} is unknown").into()),
        }
        Ok(())
    }

    fn hash(&mut self, line: &Line) -> Result<()> {
        let fed = match line.need("what")? {
            "parameters" => self.model.values.iter().flat_map(Array::to_bytes).collect(),
            "gradients" => bytes_of_all(&self.handles.lend().source(line.need("from")?)?.gradients()?)?,
            "norm" => {
                let mut source = self.handles.lend().source(line.need("from")?)?;
                number(source.norm()?.as_slice::<f64>().ok_or("the norm is no f64")?[0]).to_vec()
            }
            "state" => self.state(line.need("name")?)?,
            "value" => {
                let optimizer = self.handles.lend().optimizer()?;
                number(optimizer.get_value(line.need("name")?, line.value("group", 0)?)?).to_vec()
            }
            "step_count" => self.handles.lend().optimizer()?.step_count()?.to_le_bytes().to_vec(),
            "window" => {
                let window = self.handles.lend().accumulator()?;
                let (count, skipped) = (window.count()?.to_le_bytes(), window.skipped()?.to_le_bytes());
                [count, number(window.weight()?), skipped].concat()
            }
            "residual" => {
                let reducer = self.handles.lend().reducer()?;
                let views = (0..self.model.values.len()).map(|i| reducer.residual(i)).collect::<Result<Vec<_>, _>>()?;
                bytes_of_all(&views)?
            }
            what => return Err(format!("what: {what:?} is unknown").into()),
        };
        self.feed(&fed);
        Ok(())
    }

    /// State `name` of all parameters, in f32, or f64 for parameters of f64.
    fn state(&mut self, name: &str) -> Result<Vec<u8>> {
        let (optimizer, mut bytes) = (self.handles.lend().optimizer()?, Vec::new());
        for (i, value) in self.model.values.iter().enumerate() {
            let dtype = if value.dtype() == Dtype::F64 { Dtype::F64 } else { Dtype::F32 };
            let mut state = Array::new(dtype, &value.shape, std::iter::repeat(0.0))?;
            match optimizer.get_state(i, name, &mut state.tensor_mut()?) {
                Ok(()) => bytes.extend(state.to_bytes()),
                Err(Error::InvalidState(_)) => {} // this parameter has none
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }
}

/// A number as it is hashed.
fn number(number: f64) -> [u8; 8] {
    let bits = if number.is_nan() { 0x7FF8_0000_0000_0000 } else { number.to_bits() };
    bits.to_le_bytes()
}

fn bytes_of_all(views: &[Tensor<'_>]) -> Result<Vec<u8>> {
    Ok(views.iter().map(bytes_of).collect::<Result<Vec<_>>>()?.concat())
}

fn step(
    optimizer: &mut Optimizer,
    values: &mut [Array],
    grads: &[Tensor<'_>],
    options: Option<StepOptions<'_>>,
) -> gradstep::Result<Option<gradstep::StepResult>> {
    let mut params = tensors_mut(values)?;
    match options {
        Some(options) => optimizer.step_with(&mut params, grads, options).map(Some),
        None => optimizer.step(&mut params, grads).map(|()| None),
    }
}
