//! Events and documents for programs: JSON and nothing else.

use std::io::{self, Write};

use protocol::Event;
use serde::Serialize;

/// Writes one event as one line.
pub(super) fn event(out: &mut dyn Write, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Writes what a listing command has to say as one JSON document.
///
/// # Errors
/// What the writer said.
pub fn document(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use protocol::{EventKind, EventScope, Timestamp};

    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let kind = EventKind::TaskQueued {
            task: "t1".parse().unwrap(),
            title: "a\nb\u{1b}[0m".into(),
            model: None,
        };
        let given = Event {
            seq: 1,
            at: Timestamp::from_millisecond(0),
            scope: Some(EventScope::Run("r7k3f".parse().unwrap())),
            kind,
        };
        let mut out = Vec::new();
        event(&mut out, &given).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(!out.contains(&0x1b));
        assert_eq!(serde_json::from_slice::<Event>(&out).unwrap(), given);
    }
}
