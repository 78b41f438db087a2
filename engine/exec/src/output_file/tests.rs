use std::fs;
use std::os::unix::fs::MetadataExt as _;

use tempfile::NamedTempFile;

use super::*;

fn fill(keep: u64, chunks: &[&[u8]]) -> (String, WrittenOutput) {
    let file = NamedTempFile::new().unwrap();
    let mut sink = OutputFile::create(file.path(), keep).unwrap();
    for chunk in chunks {
        sink.push(chunk);
    }
    let filled = sink.close();
    assert!(filled.error.is_none(), "{:?}", filled.error);
    (fs::read_to_string(file.path()).unwrap(), filled)
}

/// Numbered lines of ten bytes each.
fn lines(from: u64, to: u64) -> Vec<u8> {
    (from..to).flat_map(|number| format!("{number:09}\n").into_bytes()).collect()
}

#[test]
fn a_file_that_waits_for_its_first_byte_is_not_made_without_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("run/task/output.log");
    let silent = OutputFile::create_when_written(&path, 10).unwrap().close();
    assert!(silent.error.is_none());
    assert!(!home.path().join("run").exists());
    let mut heard = OutputFile::create_when_written(&path, 10).unwrap();
    heard.push(b"one");
    assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    assert!(heard.close().error.is_none());
    OutputFile::create_when_written(&path, 10).unwrap().close();
    assert!(!path.exists(), "what an earlier attempt wrote is gone");
}

#[test]
fn short_output_is_in_memory_until_it_is_long_in_bytes_or_lines() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("task/0.bash.log");
    let short = || OutputFile::in_memory_while_short(&path, 1 << 20);
    let mut sink = short();
    assert!(sink.hold(b"one\n") && sink.hold(b"two"));
    assert_eq!((sink.take_held(), sink.is_absent()), (Some(b"one\ntwo".to_vec()), true));
    assert_eq!(sink.close().bytes, 7);
    assert_eq!(short().take_held(), Some(Vec::new()));
    assert!(!home.path().join("task").exists());
    let bytes = vec![b'x'; SHORT_OUTPUT_BYTES];
    let lines = vec![b'\n'; SHORT_OUTPUT_LINES];
    for most in [bytes, lines] {
        let mut sink = short();
        assert!(sink.hold(&most) && !sink.hold(b"\n"));
        sink.push(b"\n");
        assert_eq!(sink.take_held(), None);
        let all = [&most, b"\n".as_slice()].concat();
        assert_eq!((sink.close().dropped, fs::read(&path).unwrap()), (0, all));
    }
    let mut few = OutputFile::in_memory_while_short(&path, 8);
    assert!(few.hold(b"12345678") && !few.hold(b"9"), "no more than is to be kept");
    few.push(b"9");
    assert!(few.close().dropped > 0);
    assert!(fs::read_to_string(&path).unwrap().contains("left out"));
}

#[test]
fn what_fits_is_kept_whole_and_without_a_notice() {
    let (text, filled) = fill(8, &[b"1234", b"5678"]);
    assert_eq!(text, "12345678");
    assert_eq!((filled.bytes, filled.dropped), (8, 0));
}

#[test]
fn what_does_not_fit_is_left_out_between_the_beginning_and_the_end() {
    let all = lines(0, 1000);
    let (text, filled) = fill(200, &[&all]);
    assert_eq!((filled.bytes, filled.dropped), (10_000, 9_800));
    let (head, rest) = text.split_once('…').unwrap();
    let (notice, tail) = rest.split_once('\n').unwrap();
    assert_eq!(head.as_bytes(), lines(0, 10));
    assert_eq!(notice, " 9800 bytes left out …");
    assert_eq!(tail.as_bytes(), lines(990, 1000));
}

#[test]
fn where_hardly_anything_is_left_out_the_end_makes_room_for_the_notice() {
    for more in 1..60 {
        let mut all = lines(0, 20);
        all.extend(vec![b'x'; more]);
        let (text, filled) = fill(200, &[&all]);
        let notice = format!("… {} bytes left out …\n", filled.dropped);
        let (head, tail) = text.split_once(&notice).unwrap();
        assert_eq!(head.as_bytes(), lines(0, 10));
        assert!(all.ends_with(tail.as_bytes()), "{more}: {tail:?}");
        assert_eq!((head.len() + tail.len()) as u64 + filled.dropped, filled.bytes);
        assert!(text.len() <= 200 + notice.len(), "{more}: {}", text.len());
        assert!(filled.dropped <= (more + notice.len()) as u64, "{more}: {}", filled.dropped);
    }
}

#[test]
fn the_notice_stands_on_a_line_of_its_own() {
    let all = [b'x'; 1000];
    let (text, _) = fill(200, &[&all]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines, [&"x".repeat(100), "… 800 bytes left out …", &"x".repeat(100)]);
    assert_eq!(fill(0, &[b"1\n"]).0, "… 2 bytes left out …\n");
    assert_eq!(fill(0, &[]).0, "");
}

#[test]
fn at_every_moment_of_a_flood_the_beginning_and_the_end_are_in_the_file() {
    let keep = 600_000;
    let file = NamedTempFile::new().unwrap();
    let mut sink = OutputFile::create(file.path(), keep).unwrap();
    let (mut written, mut longest) = (0, 0);
    let all = lines(0, 240_000);
    let place = |line: u64| usize::try_from(line).unwrap() * 10;
    let lines = |from: u64, to: u64| &all[place(from)..place(to)];
    while written < 240_000 {
        sink.push(lines(written, written + 4000));
        written += 4000;
        let kept = fs::read(file.path()).unwrap();
        longest = longest.max(kept.len() as u64);
        let head = lines(0, 30_000.min(written));
        let tail = lines(written.saturating_sub(30_000), written);
        assert!(kept.starts_with(head) && kept.ends_with(tail), "after {written} lines");
    }
    // Until it is closed there is room for what is left out next.
    assert!(longest < keep + keep / 2 + 50_000, "{longest}");
    let filled = sink.close();
    assert_eq!((filled.bytes, filled.dropped), (2_400_000, 1_800_000));
    let notice = "… 1800000 bytes left out …\n";
    assert_eq!(fs::metadata(file.path()).unwrap().size(), keep + notice.len() as u64);
    let text = fs::read_to_string(file.path()).unwrap();
    assert_eq!(text.matches("left out").count(), 1);
    let (head, tail) = text.split_once(notice).unwrap();
    assert_eq!((head.as_bytes(), tail.as_bytes()), (lines(0, 30_000), lines(210_000, 240_000)));
}

/// A disk with room for a few bytes.
struct Small(Vec<u8>, usize);

impl Storage for Small {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let offset = usize::try_from(offset).unwrap();
        let count = bytes.len().min(self.1.saturating_sub(offset));
        self.0.resize(self.0.len().max(offset + count), 0);
        self.0[offset..offset + count].copy_from_slice(&bytes[..count]);
        if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.0[offset..offset + buffer.len()]);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_and_everything_is_still_taken() {
    let mut sink = OutputFile::over(Small(Vec::new(), 5), 1000);
    sink.push(b"1234");
    assert!(!sink.is_full());
    sink.push(b"5678");
    assert!(sink.is_full());
    sink.push(b"90");
    let filled = sink.close();
    assert_eq!((filled.bytes, filled.dropped), (10, 5));
    assert_eq!(filled.error.map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
}
