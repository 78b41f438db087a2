use super::*;
use crate::test_support::clock;

fn opened(scenarios: &Scenarios, path: &Path) -> Result<Arc<Script>, String> {
    let path = path.to_str().unwrap();
    let route = ModelRoute { provider: "offline".into(), id: path.into(), base_url: None };
    let opened = scenarios.open(&route, None, clock());
    assert_eq!(opened.is_ok(), scenarios.script(path).is_ok());
    scenarios.script(path).map_err(|failure| {
        assert_eq!(failure.class, FailureClass::Invalid);
        failure.message.replace(path, "FILE")
    })
}

#[test]
fn a_file_is_read_each_time_and_understood_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let scenarios = Scenarios::default();
    std::fs::write(&path, "version = 1\n[[turn]]\n").unwrap();
    let first = opened(&scenarios, &path).unwrap();
    assert!(Arc::ptr_eq(&first, &opened(&scenarios, &path).unwrap()));
    std::fs::write(&path, "version = 1\n[[turn]]\n[[turn]]\n").unwrap();
    assert_eq!(opened(&scenarios, &path).unwrap().scenarios[0].turns.len(), 2);
    std::fs::write(&path, "version = 1\n[[turn]]\nx = 1\n").unwrap();
    let told = opened(&scenarios, &path).unwrap_err();
    assert!(told.starts_with("FILE:3:1: unknown field `x`"), "{told}");
}

#[test]
fn what_is_no_text_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = Scenarios::default();
    let told = |path: &Path| opened(&scenarios, path).unwrap_err();
    assert_eq!(told(folder.path()), "the scenario file FILE cannot be read: it is no file");
    assert_eq!(
        told(Path::new("/dev/zero")),
        "the scenario file FILE cannot be read: it is no file"
    );
    let path = folder.path().join("bytes");
    std::fs::write(&path, b"\xff\xfe").unwrap();
    assert!(told(&path).contains("valid UTF-8"), "{}", told(&path));
    let file = File::create(&path).unwrap();
    file.set_len(LARGEST + 1).unwrap();
    assert_eq!(told(&path), "the scenario file FILE cannot be read: it is larger than 4 MiB");
}
