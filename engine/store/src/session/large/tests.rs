//! What is large is cut in the file, whole in a blob, and whole again when it is read.

use super::*;

struct Place {
    folder: tempfile::TempDir,
    blobs: BlobFolder,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let blobs = BlobFolder::new(folder.path().to_owned());
    Place { folder, blobs }
}

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// An entry with everything that is large somewhere.
fn large() -> Value {
    let long = "ä".repeat(MAX_CHARS + 1);
    json!({
        "type": "message",
        "message": {
            "role": "user",
            "content": [
                { "type": "text", "text": long },
                { "type": "image", "data": "A".repeat(MIN_IMAGE), "mimeType": "image/png" },
                { "type": "image", "data": "B".repeat(MIN_IMAGE - 1), "mimeType": "image/png" },
            ],
            "a/b~c": [format!("{long}x")],
            "thinkingSignature": long,
        },
    })
}

#[test]
fn what_is_large_is_cut_in_the_file_and_equal_after_it_is_read() {
    let place = place();
    let mut written = fields(&large());
    reduce(&mut written, Some(&place.blobs)).unwrap();
    let file = Value::Object(written.clone());
    let text = file.pointer("/message/content/0/text").unwrap().as_str().unwrap();
    assert_eq!(text.chars().count(), MAX_CHARS);
    assert!(text.ends_with(&format!("ä{NOTICE}")));
    assert_eq!(file.pointer("/message/thinkingSignature").unwrap(), "");
    let image = file.pointer("/message/content/1/data").unwrap().as_str().unwrap();
    assert!(image.starts_with(REFERENCE), "{image}");
    assert!(serde_json::to_string(&file).unwrap().len() < 3 * 1_000_000 + 5_000);

    assert_eq!(restore(&mut written, Some(&place.blobs)), Vec::<String>::new());
    assert_eq!(Value::Object(written), large());
}

#[test]
fn a_blob_that_is_missing_is_a_gap_with_a_name() {
    let place = place();
    let mut written = fields(&large());
    reduce(&mut written, Some(&place.blobs)).unwrap();
    let cut = Value::Object(written.clone());
    for blob in std::fs::read_dir(place.folder.path()).unwrap() {
        std::fs::remove_file(blob.unwrap().path()).unwrap();
    }
    for blobs in [Some(&place.blobs), None] {
        let mut read = written.clone();
        let missing = restore(&mut read, blobs);
        assert_eq!(missing.len(), 4, "{missing:?}");
        assert!(missing[0].starts_with("the end of the text at `/message/content/0/text` (blob:"));
        assert!(missing[3].starts_with("an image (blob:sha256:"), "{missing:?}");
        let read = Value::Object(read);
        let at = "/message/content/0/text";
        assert_eq!(read.pointer(at), cut.pointer(at));
        let gap = read.pointer("/message/content/1").unwrap();
        assert_eq!(gap["type"], "text");
        assert!(gap["text"].as_str().unwrap().starts_with("[an image is missing: blob:sha256:"));
    }
}

#[test]
fn a_reference_that_leads_to_another_text_changes_nothing() {
    let place = place();
    let other = place.blobs.put("other").unwrap();
    let mut read = fields(&json!({ "a": "short", "b": {}, "blobs": { "/a": other, "/b": other } }));
    assert_eq!(restore(&mut read, Some(&place.blobs)).len(), 2);
    assert_eq!(Value::Object(read), json!({ "a": "short", "b": {} }));
}

#[test]
fn without_a_place_for_blobs_strings_are_cut_and_images_stay() {
    let mut written = fields(&large());
    reduce(&mut written, None).unwrap();
    assert!(!written.contains_key(FIELD));
    let file = Value::Object(written);
    assert!(file.pointer("/message/content/0/text").unwrap().as_str().unwrap().ends_with(NOTICE));
    assert_eq!(file.pointer("/message/content/1"), large().pointer("/message/content/1"));
}

#[test]
fn strings_that_fit_stay_and_what_was_cut_is_not_cut_again() {
    let place = place();
    let fits = json!({ "a": "ä".repeat(MAX_CHARS), "b": 1 });
    let mut written = fields(&fits);
    reduce(&mut written, Some(&place.blobs)).unwrap();
    assert_eq!(Value::Object(written), fits);
    let mut once = fields(&json!({ "a": "ä".repeat(MAX_CHARS + 1) }));
    reduce(&mut once, None).unwrap();
    let mut twice = once.clone();
    reduce(&mut twice, None).unwrap();
    assert_eq!(twice, once);
}

#[test]
fn the_number_of_lines_beside_a_content_that_was_cut_is_that_of_the_cut() {
    let content = "a\n".repeat(MAX_CHARS);
    let mut written = fields(&json!({ "files": [{ "content": content, "lineCount": MAX_CHARS }] }));
    reduce(&mut written, None).unwrap();
    let file = &written["files"][0];
    assert_eq!(file["lineCount"], file["content"].as_str().unwrap().lines().count());
}

#[test]
fn an_image_in_an_address_is_a_blob_too_and_other_addresses_stay() {
    let place = place();
    let data = format!("data:image/png;base64,{}", "A".repeat(MIN_IMAGE));
    let entry = json!({ "type": "custom", "data": [
        { "image_url": data }, { "image_url": { "url": data, "detail": "low" } },
        { "image_url": format!("https://a/{}", "b".repeat(MIN_IMAGE)) }, { "image_url": "data:," },
    ] });
    let mut written = fields(&entry);
    reduce(&mut written, Some(&place.blobs)).unwrap();
    let file = Value::Object(written.clone());
    for at in ["/data/0/image_url", "/data/1/image_url/url"] {
        let url = file.pointer(at).and_then(Value::as_str).unwrap();
        assert!(url.starts_with(REFERENCE), "{at}: {url}");
    }
    for unchanged in [2, 3] {
        assert_eq!(file["data"][unchanged], entry["data"][unchanged]);
    }
    assert_eq!(restore(&mut written.clone(), None).len(), 2, "both are missing without blobs");
    assert_eq!(restore(&mut written, Some(&place.blobs)), Vec::<String>::new());
    assert_eq!(Value::Object(written), entry);
}
