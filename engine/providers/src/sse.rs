//! Decodes a stream of server-sent events. The chunks of the stream may end anywhere. Lines and
//! events have a maximum size.

/// The maximum number of bytes of one line, and of one event.
pub(crate) const MAX_LEN: usize = 4 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The event type; empty if not given.
    pub(crate) name: String,
    /// The data, its lines joined with line feeds.
    pub(crate) data: String,
}

/// The error for an event or a line that is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_LEN} bytes")]
pub(crate) struct TooLong;

/// Decodes events incrementally, and holds the event that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The line so far.
    line: Vec<u8>,
    /// The lines of data so far, each with its line feed.
    data: Vec<u8>,
    name: Vec<u8>,
    /// Whether the last byte was a carriage return. A line feed may follow that ends the same line.
    returned: bool,
    /// Whether the first line has ended. Only the first line may begin with a byte order mark.
    begun: bool,
}

impl Decoder {
    /// Takes the next bytes and adds the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut rest = bytes;
        if self.returned && !rest.is_empty() {
            self.returned = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend(&rest[..at])?;
            events.extend(self.end_line()?);
            let (end, after) = (rest[at], &rest[at + 1..]);
            self.returned = end == b'\r' && after.is_empty();
            rest = if end == b'\r' { after.strip_prefix(b"\n").unwrap_or(after) } else { after };
        }
        self.extend(rest)
    }

    /// Ends the stream. Returns its last event, which some servers do not terminate.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let ended = if self.line.is_empty() { Ok(None) } else { self.end_line() };
        let event = ended.ok().flatten();
        event.or_else(|| self.dispatch())
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > MAX_LEN {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Event>, TooLong> {
        let line = std::mem::take(&mut self.line);
        let began = std::mem::replace(&mut self.begun, true);
        let text = if began { &line[..] } else { line.strip_prefix(BOM).unwrap_or(&line) };
        let event = if text.is_empty() {
            self.dispatch()
        } else {
            self.field(text)?;
            None
        };
        // Keep the allocation of the line.
        self.line = line;
        self.line.clear();
        Ok(event)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), TooLong> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() + 1 > MAX_LEN {
                    return Err(TooLong);
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.name = value.to_vec(),
            // Comments, and fields that only matter for reconnecting.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        // Removes the last line feed; without data there is no event.
        self.data.pop()?;
        let data = String::from_utf8_lossy(&self.data).into_owned();
        self.data.clear();
        Some(Event { name: String::from_utf8_lossy(&name).into_owned(), data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.feed(chunk, &mut events).unwrap();
        }
        events.extend(decoder.finish());
        events
    }

    fn data(events: &[Event]) -> Vec<&str> {
        events.iter().map(|event| event.data.as_str()).collect()
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!("data: one{end}{end}data:two{end}data{end}data:  four{end}{end}");
            assert_eq!(data(&decode(&[stream.as_bytes()])), ["one", "two\n\n four"], "{end:?}");
        }
    }

    #[test]
    fn comments_other_fields_and_empty_events_are_nothing() {
        let stream = b"\xef\xbb\xbfdata: a\n\n: hello\n\n\n\nid: 7\nretry: 9\nevent: lost\n\n\
            event: error\ndata: b\nunknown: c\n\ndata: last";
        let events = decode(&[stream]);
        assert_eq!(data(&events), ["a", "b", "last"]);
        assert_eq!(events[1].name, "error");
        assert_eq!(events[2].name, "");
    }

    #[test]
    fn what_is_no_text_becomes_text() {
        assert_eq!(data(&decode(&[b"data: a\xffb\n\n"])), ["a\u{fffd}b"]);
    }

    #[test]
    fn an_event_without_end_is_refused_before_it_fills_the_memory() {
        let chunk = vec![b'x'; 1 << 20];
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let line = (0..8).find_map(|_| decoder.feed(&chunk, &mut events).err());
        assert_eq!(line, Some(TooLong));
        let mut decoder = Decoder::default();
        let lines = [b"data: ".as_slice(), &chunk, b"\n"].concat();
        let event = (0..8).find_map(|_| decoder.feed(&lines, &mut events).err());
        assert_eq!((event, events), (Some(TooLong), Vec::new()));
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_events(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("data: ä😀\n"), Just("\r"), Just("\n"), Just("\r\n"), Just("\u{feff}"),
                    Just("data:"), Just("event: e\r"), Just(":c\n"), Just("x"), Just("data: {}\r\n\r\n"),
                ],
                0..24,
            ),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..24),
        ) {
            let stream = parts.concat().into_bytes();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            at.extend([0, stream.len()]);
            at.sort_unstable();
            let chunks: Vec<_> = at.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(decode(&chunks), decode(&[&stream]));
        }

        #[test]
        fn no_bytes_are_too_strange(stream in proptest::collection::vec(any::<u8>(), 0..512)) {
            let bytes: Vec<_> = stream.chunks(1).collect();
            prop_assert_eq!(decode(&bytes), decode(&[&stream]));
        }
    }
}
