//! What tests of this crate have in common.

mod child;

pub(crate) use child::this_program;
