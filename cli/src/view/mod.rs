//! A session on the terminal. What is finished is printed into the scrollback once; below it is a live
//! part with the unfinished answer, the running calls, the input and a status line.
//!
//! Keys and events change a state without I/O, which a renderer turns into lines. A driver writes
//! them to the terminal and does what the state asks for.

mod answer_stream;
mod calls;
mod command;
mod completion;
mod conversation;
mod earlier;
mod editor;
mod entry;
mod hangup;
mod highlight;
mod history;
mod isolated;
mod key_help;
mod lines_input;
mod live_part;
mod markdown;
mod picker;
mod plain;
mod ports;
mod question;
mod screen;
mod session_choice;
mod sessions;
mod slash_elsewhere;
mod state;
mod stopping;
mod subagents;
mod surface;
mod terminal;
mod todos;
mod type_ahead;
mod wrap;

pub(crate) use command::{Reader, UserCommand};
pub(crate) use conversation::{Conversation, ConversationEnd, KeptView, ViewOf};
pub(crate) use earlier::Earlier;
pub(crate) use isolated::{IsolatedWork, WorkEnd};
pub(crate) use ports::ConversationPorts;
pub(crate) use session_choice::{SessionChoice, choose_session};
pub(crate) use sessions::{
    ConversationSessions, ListedSession, NotOpened, OpenedSession, Present, SwitchTo, TreeRow,
};
pub(crate) use surface::SurfaceKind;
