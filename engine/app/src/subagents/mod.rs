//! Runs the subagents of tool calls. A call is a run over the tree in which its caller works: that of the user
//! for a session, the workspace of the task for an agent of a run. Subagents work in that tree itself, or in
//! copies of it whose work lands there, as that of any other run does.

mod allowed;
mod follow;
mod groups;
mod landing;
mod outputs;
mod resolve;
mod spawner;

pub(crate) use spawner::EngineSpawner;
