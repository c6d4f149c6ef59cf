// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Scripts as lines of words.

use std::path::Path;

use crate::Result;
use crate::fields::Value;

/// `call key=value ...`
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) call: String,
    pairs: Vec<(String, String)>,
}

/// Keys that every call may have.
const COMMON: [&str; 3] = ["times", "only", "fails"];

impl Line {
    fn parse(number: usize, text: &str) -> Result<Self> {
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let call = words.next().unwrap_or_default().to_owned();
        let pair = |word: &str| {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{word:?} is no key=value"))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        Ok(Self { number, call, pairs: words.map(pair).collect::<Result<_>>()? })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn need(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| format!("{}: {key} is missing", self.call).into())
    }

    pub(crate) fn value<T: Value>(&self, key: &str, default: T) -> Result<T> {
        self.get(key).map_or(Ok(default), T::parse)
    }

    /// The pairs that are fields of options: all but those of the call itself.
    pub(crate) fn fields<'a>(&'a self, own: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        pairs.filter(move |(key, _)| !COMMON.contains(key) && !own.contains(key))
    }
}

/// Values that are separated by commas.
pub(crate) fn list<T: Value>(text: &str) -> Result<Vec<T>> {
    text.split(',').filter(|part| !part.is_empty()).map(T::parse).collect()
}

pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) ranks: usize,
    pub(crate) lines: Vec<Line>,
}

impl Script {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let written = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let line = |(number, text)| Line::parse(number, text).map_err(|error| format!("{}: {error}", path.display()));
        let mut lines = written.map(line).collect::<Result<Vec<_>, _>>()?;
        let ranks = match lines.first() {
            Some(line) if line.call == "ranks" => lines.remove(0).need("n")?.parse()?,
            _ => 1,
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, ranks, lines })
    }
}
