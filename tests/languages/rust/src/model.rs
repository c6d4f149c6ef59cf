// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The parameters of a script, and the gradients of its calls.

use std::path::Path;

use gradstep::{Dtype, Parameter};

use crate::Result;
use crate::arrays::Array;
use crate::data::{Kind, elements};
use crate::script::{Line, list};

/// The keys of calls that take gradients.
pub(crate) const GRADIENTS: [&str; 4] = ["missing", "nan", "data", "from"];

/// A rank's model.
pub(crate) struct Model<'a> {
    directory: &'a Path,
    rank: usize,
    pub(crate) schema: Vec<Parameter>,
    pub(crate) values: Vec<Array>,
    gradient_dtypes: Vec<Dtype>,
    /// How many times gradients were generated.
    pub(crate) generated: usize,
}

impl<'a> Model<'a> {
    pub(crate) fn new(directory: &'a Path, rank: usize) -> Self {
        let (schema, values, gradient_dtypes) = (Vec::new(), Vec::new(), Vec::new());
        Self { directory, rank, schema, values, gradient_dtypes, generated: 0 }
    }

    pub(crate) fn add_parameter(&mut self, line: &Line) -> Result<()> {
        let (shape, dtype) = (list::<usize>(line.need("shape")?)?, line.value("dtype", Dtype::F32)?);
        let numbers = elements(Kind::Parameters, [0, 0, self.values.len()], dtype.size() == 2);
        self.schema.push(Parameter::new(&shape).dtype(dtype).group(line.value("group", 0)?));
        self.values.push(Array::new(dtype, &shape, numbers)?);
        self.gradient_dtypes.push(line.value("gradient", dtype)?);
        Ok(())
    }

    /// The arrays of all parameters in a file of the scripts' folder.
    fn read(&self, name: &str, dtypes: &[Dtype]) -> Result<Vec<Array>> {
        let bytes = std::fs::read(self.directory.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let expected: usize = self.values.iter().zip(dtypes).map(|(value, dtype)| value.len() * dtype.size()).sum();
        if bytes.len() != expected {
            return Err(format!("{name}: has {} bytes, expected {expected}", bytes.len()).into());
        }
        let mut rest = &bytes[..];
        let read = |(value, &dtype): (&Array, &Dtype)| {
            let (own, others) = rest.split_at(value.len() * dtype.size());
            rest = others;
            Array::read(dtype, &value.shape, own)
        };
        self.values.iter().zip(dtypes).map(read).collect()
    }

    /// The gradients of a call, generated or read.
    pub(crate) fn gradients(&mut self, line: &Line) -> Result<Vec<Option<Array>>> {
        let arrays = match line.get("data") {
            Some(name) => self.read(name, &self.gradient_dtypes)?,
            None => {
                self.generated += 1;
                let generate = |(i, (value, &dtype)): (usize, (&Array, &Dtype))| {
                    let numbers = elements(Kind::Gradients, [self.generated, self.rank, i], dtype.size() == 2);
                    Array::new(dtype, &value.shape, numbers)
                };
                self.values.iter().zip(&self.gradient_dtypes).enumerate().map(generate).collect::<Result<_>>()?
            }
        };
        let mut arrays: Vec<_> = arrays.into_iter().map(Some).collect();
        if let Some(place) = line.get("nan") {
            let &[parameter, element] = &list::<usize>(place)?[..] else {
                return Err("nan: expected P,E".into());
            };
            if let Some(array) = &mut arrays[parameter] {
                array.set_nan(element);
            }
        }
        for parameter in list::<usize>(line.get("missing").unwrap_or_default())? {
            arrays[parameter] = None;
        }
        Ok(arrays)
    }

    pub(crate) fn read_parameters(&mut self, name: &str) -> Result<()> {
        let dtypes: Vec<_> = self.values.iter().map(Array::dtype).collect();
        self.values = self.read(name, &dtypes)?;
        Ok(())
    }
}
