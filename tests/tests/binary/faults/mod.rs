//! Kills, full disks, several engines, and recovery.

mod durable;
mod engine_calls;
mod engines;
mod engines_and_saves;
mod escapes;
mod escapes_kit;
mod fuzz;
mod kill;
mod points;
mod power_cut;
mod recovery;
mod recovery_killed;
pub(super) mod strace;
