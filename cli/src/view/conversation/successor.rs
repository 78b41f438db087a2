//! How a session is left: for the shell, or for another session, which goes on with the view.

use std::io;
use std::time::Instant;

use engine::exit_code::Interruption;
use protocol::Failure;

use crate::render::{Palette, Size};
use crate::view::highlight::Syntaxes;
use crate::view::isolated::WorkEnd;
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
    /// The workspace of the session ends, and it goes on with the view in another one.
    Work(WorkEnd, Box<KeptView>),
}

/// Where the view goes from a session.
pub(super) enum Leaving {
    For(ConversationEnd),
    To(Box<OpenedSession>),
    Work(WorkEnd),
}

impl Leaving {
    /// Returns whether the terminal stays as it is.
    pub(super) fn keeps_view(&self) -> bool {
        match self {
            Self::For(_) => false,
            Self::To(_) | Self::Work(_) => true,
        }
    }
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

impl KeptView {
    /// Lends the terminal to what prints by itself, until [`Self::resume`].
    ///
    /// # Errors
    /// The terminal cannot be written.
    pub(crate) fn lend(&mut self) -> io::Result<()> {
        self.surface.lend()
    }

    /// Takes the terminal again.
    ///
    /// # Errors
    /// The terminal refuses it.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.surface.resume()
    }
}
