//! Commands as they really run: with processes, pipes, signals and a launcher.

#[cfg(test)]
#[macro_use]
extern crate test_limit;

#[cfg(test)]
mod crowded;
#[cfg(test)]
mod deaf_reaper;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod engine_killed;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod leaks;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod output;
#[cfg(test)]
mod owners;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod slots;
