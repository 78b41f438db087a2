//! What every way to isolate has to do, over each of them, and over one that does it in the
//! plainest way.

mod captures;
mod ends;
mod kit;
mod plain_copy;
mod reuse;
mod reuse_bad_input;
mod reuse_kit;
mod workspaces;
