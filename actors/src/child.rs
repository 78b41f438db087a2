//! How supervisors start their children.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ractor::{Actor, ActorCell, ActorRef, SpawnErr};

/// Starts an actor below `supervisor`.
///
/// The future is on the heap. An actor holds the largest future that its handlers await for all of
/// its life and moves it with each message, and the start of a child holds the child's arguments
/// several times.
pub(crate) fn start_child<A: Actor>(
    actor: A,
    arguments: A::Arguments,
    supervisor: ActorCell,
) -> BoxFuture<'static, Result<ActorRef<A::Msg>, SpawnErr>> {
    let start = Actor::spawn_linked(None, actor, arguments, supervisor);
    start.map(|started| started.map(|(actor, _join)| actor)).boxed()
}
