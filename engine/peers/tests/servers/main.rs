//! Connections to real servers, well-behaved and hostile: to processes and over HTTP.

#[cfg(test)]
#[macro_use]
extern crate test_limit;

#[cfg(test)]
mod harness;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod programs;
