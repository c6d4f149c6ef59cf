// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! usage: languages_rust --vectors DIR [--trace]. Makes the calls of all scripts in DIR from Rust (README.md one folder
//! up).

mod arrays;
mod data;
mod field_tables;
mod fields;
mod handles;
mod model;
mod rank;
mod script;

use std::error::Error;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use gradstep::{Communicator, Context};

use crate::data::{HASH_START, hash_bytes};
use crate::rank::Rank;
use crate::script::Script;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<()> {
    let (mut directory, mut trace, mut arguments) = (None, false, arguments.into_iter());
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--vectors") => directory = arguments.next().map(PathBuf::from),
            Some("--trace") => trace = true,
            _ => return Err(format!("unknown argument {argument:?}").into()),
        }
    }
    let directory = directory.ok_or("usage: languages_rust --vectors DIR [--trace]")?;
    for path in scripts_in(&directory)? {
        let script = Script::read(&path)?;
        println!("{} {:016x}", script.name, hash_of(&script, &directory, trace)?);
    }
    Ok(())
}

/// The scripts in the order of their names' bytes.
fn scripts_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "script"));
    paths.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    if paths.is_empty() { Err(format!("{}: there are no scripts", directory.display()).into()) } else { Ok(paths) }
}

fn hash_of(script: &Script, directory: &Path, trace: bool) -> Result<u64> {
    let context = Context::new()?;
    let comms = Communicator::local(&context, script.ranks)?;
    // The first one is why the others fail, who lose a peer.
    let failures = Mutex::new(Vec::new());
    let run = |index: usize| {
        let mut rank = Rank::new(directory, &context, &comms[index], index);
        let hash = rank.run(script, trace);
        if let Err(error) = &hash {
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
            comms.iter().for_each(|comm| drop(comm.abort()));
        }
        hash.ok()
    };
    let hashes: Vec<_> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..script.ranks).map(|index| scope.spawn(move || run(index))).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    if let Some(failure) = failures.into_inner()?.into_iter().next() {
        return Err(failure.into());
    }
    let hashes = hashes.into_iter().collect::<Option<Vec<u64>>>().ok_or("a rank panicked")?;
    Ok(hashes.into_iter().fold(HASH_START, |hash, rank| hash_bytes(hash, &rank.to_le_bytes())))
}
