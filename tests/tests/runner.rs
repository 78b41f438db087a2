//! Rules of the house, and actors on fakes.

mod actors;
mod tidy;
