//! Server-sent events of an HTTP answer, within bounds.

use std::collections::VecDeque;

use crate::bounds::MESSAGE_BYTES;

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; `message` if the server gives none.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// An event is longer than a message can be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Makes events of the bytes of an answer.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    events: VecDeque<Event>,
}

impl EventParser {
    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => self.end_line(),
                byte => self.line.push(*byte),
            }
            if self.line.len() + self.data.len() > MESSAGE_BYTES {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    /// Returns the next event that is complete.
    pub(crate) fn next(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            let name = if name.is_empty() { "message".to_owned() } else { name };
            let data = String::from_utf8_lossy(&data).into_owned();
            self.events.push_back(Event { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\r\nevent: endpoint\r\ndata: /messages?id=1\r\n\r\n\r\ndata:a\rdata: b\rid: 7\r\revent: x\n\ndata\n\ndata: öl\n\n";

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_cut() {
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        let expected = [
            event("endpoint", "/messages?id=1"),
            event("message", "a\nb"),
            event("message", ""),
            event("message", "öl"),
        ];
        for size in 1..STREAM.len() {
            let mut parser = EventParser::default();
            for chunk in STREAM.as_bytes().chunks(size) {
                parser.feed(chunk).unwrap();
            }
            let events: Vec<_> = std::iter::from_fn(|| parser.next()).collect();
            assert_eq!(events, expected, "in parts of {size}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut parser = EventParser::default();
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let fed: Vec<_> = (0..20).map(|_| parser.feed(line.as_bytes())).collect();
        assert_eq!(fed.iter().position(Result::is_err), Some(15));
    }
}
