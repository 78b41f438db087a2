use std::io::Write as _;

use super::*;

fn records(path: &Path) -> Vec<Vec<u8>> {
    open_locked(path).unwrap().map_or(vec![], |mut file| read(&mut file).unwrap().records)
}

#[test]
fn announced_records_of_many_threads_share_one_sync() {
    let home = tempfile::tempdir().unwrap();
    let mut log = GroupLog::at(home.path().join("log"));
    // The writer of the group waits for all of them, however slowly they start.
    log.longest_wait = Duration::from_secs(1_000);
    log.lock().last_sync = log.longest_wait;
    let log = Arc::new(log);
    let announced: Vec<_> = (0..64_u8).map(|_| log.announce()).collect();
    std::thread::scope(|scope| {
        for (number, announced) in (0_u8..).zip(announced) {
            scope.spawn(move || announced.append(&[number]).unwrap());
        }
    });
    let mut found = records(&home.path().join("log"));
    found.sort();
    assert_eq!(found, (0..64_u8).map(|number| vec![number]).collect::<Vec<_>>());
    assert_eq!(log.groups(), 1, "all of them share one sync");
    assert_eq!(Arc::strong_count(&log), 1, "no record keeps the file open");
}

#[test]
fn a_lone_record_waits_for_nobody_and_a_withdrawn_one_is_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(GroupLog::at(home.path().join("log")));
    drop(log.announce());
    assert_eq!(log.lock().coming, 0);
    log.announce().append(b"one").unwrap();
    log.announce().append(b"two").unwrap();
    assert_eq!((log.groups(), log.lock().coming), (2, 0));
    assert_eq!(records(&home.path().join("log")), [b"one", b"two"]);
}

#[test]
fn an_error_reaches_everyone_of_the_group_with_its_number() {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(GroupLog::at(home.path().join("nowhere/log")));
    let announced: Vec<_> = (0..4_u8).map(|_| log.announce()).collect();
    std::thread::scope(|scope| {
        for announced in announced {
            scope.spawn(move || {
                let error = announced.append(b"lost").unwrap_err();
                assert_eq!(error.raw_os_error(), Some(2), "{error}");
            });
        }
    });
    std::fs::create_dir(home.path().join("nowhere")).unwrap();
    log.announce().append(b"kept").unwrap();
    assert_eq!(records(&home.path().join("nowhere/log")), [b"kept"]);
}

#[test]
fn a_damaged_record_hides_none_that_follow_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let log = Arc::new(GroupLog::at(path.clone()));
    for record in [b"one", b"two", b"six"] {
        log.announce().append(record).unwrap();
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let damaged = HEADER + 3 + HEADER;
    bytes[damaged] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let found = read(&mut open_locked(&path).unwrap().unwrap()).unwrap();
    assert_eq!((found.records.len(), found.damaged), (2, 1));
    Arc::new(GroupLog::at(path.clone())).announce().append(b"new").unwrap();
    assert_eq!(records(&path), [b"one", b"six", b"new"]);
}

#[test]
fn what_a_dead_process_wrote_in_part_is_cut_off_and_another_process_may_empty_the_log() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log");
    let (mine, theirs) =
        (Arc::new(GroupLog::at(path.clone())), Arc::new(GroupLog::at(path.clone())));
    mine.announce().append(b"one").unwrap();
    let mut torn = Vec::new();
    frame(b"never finished", &mut torn).unwrap();
    torn.pop();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(&torn).unwrap();
    assert_eq!(records(&path), [b"one"]);
    theirs.announce().append(b"two").unwrap();
    mine.announce().append(b"six").unwrap();
    assert_eq!(records(&path), [b"one", b"two", b"six"]);
    open_locked(&path).unwrap().unwrap().set_len(0).unwrap();
    mine.announce().append(b"new").unwrap();
    theirs.announce().append(b"end").unwrap();
    assert_eq!(records(&path), [b"new", b"end"]);
}
