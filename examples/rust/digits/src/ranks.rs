// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! One piece of work on several ranks: threads of this process, or processes of their own.

use std::path::PathBuf;
use std::process::Command;

use gradstep::{Communicator, Connect, Context, Engine};

use crate::Result;

/// What the command line says.
pub struct Arguments {
    /// The digits.
    pub digits: PathBuf,
    /// How many ranks.
    pub ranks: usize,
    /// None: threads. Else processes, connected by this engine.
    pub engine: Option<Engine>,
    /// In a process that is a rank: which one, and the bytes by which the ranks meet.
    rank: Option<(i32, Vec<u8>)>,
}

const USAGE: &str = "[--ranks N] [--engine local|shm|gloo] DIGITS.csv";

impl Arguments {
    /// Reads the command line.
    ///
    /// # Errors
    /// An argument that is unknown or missing.
    pub fn parse() -> Result<Self> {
        let (mut digits, mut ranks, mut engine, mut rank) = (None, 4, None, None);
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--ranks" => ranks = value()?.parse()?,
                "--engine" => engine = engine_of(&value()?)?,
                // Arguments of the processes that `on_ranks` starts.
                "--rank" => rank = Some((value()?.parse()?, bytes_of(&value()?)?)),
                option if option.starts_with('-') => return Err(format!("{option} is unknown; usage: {USAGE}").into()),
                path => digits = Some(PathBuf::from(path)),
            }
        }
        Ok(Self { digits: digits.ok_or_else(|| format!("usage: {USAGE}"))?, ranks, engine, rank })
    }
}

fn engine_of(name: &str) -> Result<Option<Engine>> {
    match name {
        "local" => Ok(None),
        "shm" => Ok(Some(Engine::Shm)),
        "gloo" => Ok(Some(Engine::Gloo)),
        _ => Err(format!("--engine {name}: expected local, shm or gloo").into()),
    }
}

fn bytes_of(digits: &str) -> Result<Vec<u8>> {
    (0..digits.len() / 2).map(|i| Ok(u8::from_str_radix(&digits[2 * i..2 * i + 2], 16)?)).collect()
}

/// Runs `work` once for each rank.
///
/// # Errors
/// The first that a rank ends with.
pub fn on_ranks(arguments: &Arguments, work: impl Fn(&Context, &Communicator) -> Result<()> + Sync) -> Result<()> {
    let context = Context::builder().num_threads(1).build()?; // ranks share the processors
    match (&arguments.rank, arguments.engine) {
        (Some((rank, id)), Some(engine)) => {
            let how = Connect::new(engine, *rank, i32::try_from(arguments.ranks)?).id(id);
            work(&context, &Communicator::connect(&context, &how)?)
        }
        (_, Some(engine)) => start_processes(arguments.ranks, engine),
        (_, None) => {
            let comms = Communicator::local(&context, arguments.ranks)?;
            std::thread::scope(|scope| {
                let (context, work) = (&context, &work);
                let threads: Vec<_> = comms.into_iter().map(|comm| scope.spawn(move || work(context, &comm))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a rank panicked")?)
            })
        }
    }
}

/// This program again, once for each rank. The parent serves the store by which they meet, and waits for them.
fn start_processes(ranks: usize, engine: Engine) -> Result<()> {
    let id: String = gradstep::unique_id(engine, None)?.iter().map(|byte| format!("{byte:02x}")).collect();
    let start = |rank: usize| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).args(["--rank", &rank.to_string(), &id]).spawn()
    };
    let processes = (0..ranks).map(start).collect::<Result<Vec<_>, _>>()?;
    let ended = processes.into_iter().map(|mut process| process.wait()).collect::<Result<Vec<_>, _>>()?;
    match ended.iter().position(|status| !status.success()) {
        Some(rank) => Err(format!("rank {rank}: {}", ended[rank]).into()),
        None => Ok(()),
    }
}
