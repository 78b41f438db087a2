//! What one attempt to have a model answer is made of, whichever provider makes it.

use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use protocol::{Failure, FailureClass, Part, StopReason, Usage};

/// One attempt. It ends with [`Piece::Whole`] or [`Piece::Broken`].
pub(crate) type Attempt = Pin<Box<dyn Stream<Item = Piece> + Send>>;

/// What an attempt gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    /// Something came that nobody needs to see.
    Alive,
    /// What it has used so far.
    Used(Usage),
    /// More words for the user.
    Text(String),
    /// More words for itself.
    Thinking(String),
    /// A call of this tool begins.
    Calling(String),
    /// So many bytes of the answer came that are shown at its end only, as arguments are.
    Wrote(usize),
    /// The whole answer.
    Whole(Whole),
    /// There will be no whole answer.
    Broken(Trouble),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Whole {
    pub(crate) content: Vec<Part>,
    pub(crate) stop_reason: StopReason,
}

/// Why an attempt came to nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    /// How long the provider asks to be left alone.
    pub(crate) wait: Option<Duration>,
    /// Whether it would have answered somebody who asks less.
    pub(crate) pace: Pace,
}

/// Whether a provider was only asked too much at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It was, and that will soon be over.
    TooFast,
    /// That is not the trouble.
    Any,
}

impl Trouble {
    pub(crate) fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self::from(Failure::new(class, message))
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self { failure, wait: None, pace: Pace::Any }
    }
}
