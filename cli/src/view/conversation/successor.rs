//! How a session is left: for the shell, or for another session, which goes on with the view.

use std::time::Instant;

use engine::exit_code::Interruption;
use protocol::Failure;

use crate::render::{Palette, Size};
use crate::view::highlight::Syntaxes;
use crate::view::sessions::OpenedSession;
use crate::view::state::ViewState;
use crate::view::surface::{Surface, SurfaceKind};

/// Why a conversation was left.
pub(crate) enum ConversationEnd {
    /// The user is done.
    Done,
    /// The user, or a signal, interrupted it.
    Interrupted(Interruption),
    /// A part of the engine failed.
    EngineFailed(Failure),
    /// Another session was opened, which goes on with the view.
    Switch(Box<OpenedSession>, Box<KeptView>),
}

/// Where the view goes from a session.
pub(super) enum Leaving {
    For(ConversationEnd),
    To(Box<OpenedSession>),
}

/// The view in which a session is shown.
pub(crate) enum ViewOf {
    /// A new one on the terminal, which begins with a line.
    New { kind: SurfaceKind, palette: Palette, size: fn() -> Size, intro: String },
    /// The one of the session before, with the text that its input gets, and what the user should know.
    Before { kept: Box<KeptView>, text: Option<String>, notes: Vec<String> },
}

/// The view of a session that was left for another one.
pub(crate) struct KeptView {
    pub(super) view: ViewState,
    pub(super) surface: Surface,
    pub(super) syntaxes: Syntaxes,
    pub(super) began: Instant,
}
