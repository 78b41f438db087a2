use super::*;
use crate::trial::{brisk, clock};

fn opened(theatre: &Theatre, path: &Path) -> Result<Arc<Script>, String> {
    let path = path.to_str().unwrap();
    let route = ModelRoute { provider: "offline".into(), id: path.into(), base_url: None };
    let opened = theatre.open(&route, brisk(), None, clock());
    assert_eq!(opened.is_ok(), theatre.script(path).is_ok());
    theatre.script(path).map_err(|failure| {
        assert_eq!(failure.class, FailureClass::Invalid);
        failure.message.replace(path, "FILE")
    })
}

#[test]
fn a_file_is_read_each_time_and_understood_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let theatre = Theatre::default();
    std::fs::write(&path, "version = 1\n[[turn]]\n").unwrap();
    let first = opened(&theatre, &path).unwrap();
    assert!(Arc::ptr_eq(&first, &opened(&theatre, &path).unwrap()));
    std::fs::write(&path, "version = 1\n[[turn]]\n[[turn]]\n").unwrap();
    assert_eq!(opened(&theatre, &path).unwrap().scenarios[0].turns.len(), 2);
    std::fs::write(&path, "version = 1\n[[turn]]\nx = 1\n").unwrap();
    let told = opened(&theatre, &path).unwrap_err();
    assert!(told.starts_with("FILE:3:1: unknown field `x`"), "{told}");
}

#[test]
fn what_is_no_text_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let theatre = Theatre::default();
    let told = |path: &Path| opened(&theatre, path).unwrap_err();
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
