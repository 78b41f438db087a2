//! Branches made of tasks' work.

mod make;

pub(crate) use make::make;
