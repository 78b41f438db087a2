//! Repositories inside a repository.

mod cut_off;
pub(super) mod kit;
mod landing;
mod locks;
mod odd;
mod workspaces;
