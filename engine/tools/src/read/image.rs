//! An image as `read` gives it to a model, in a size that models take.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use engine::ports::ToolOutput;
use protocol::Content;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::builtin::run_blocking;
use crate::error::ToolError;
use crate::images::{ImageSizes, Resized, check, fit};

/// How many images are looked at in one moment: each may take much memory.
static WORK: Semaphore = Semaphore::const_new(1);

/// An image that no model takes.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{path}` is not an image that a model takes ({reason}); use bash, for instance file or convert"
)]
struct NoImage {
    path: String,
    reason: String,
}

/// Returns the output for an image.
pub(super) async fn image_output(
    (bytes, mime_type): (Vec<u8>, &'static str),
    sizes: ImageSizes,
    shown: &str,
    path: String,
) -> Result<ToolOutput, ToolError> {
    let work = WORK.acquire().await;
    let made = run_blocking(move || content((bytes, mime_type), sizes)).await?;
    drop(work);
    let no_image = |reason| ToolError::own(NoImage { path: shown.to_owned(), reason });
    let ImageContent { image, mime_type, size, resized } = made.map_err(no_image)?;
    let mut text = format!("{shown} is an image ({mime_type}, {size} bytes)");
    let mut details = json!({ "path": path, "mimeType": mime_type, "size": size });
    if let Some(resized) = resized {
        text.push_str(&format!("\n\n{}", resized.for_model()));
        let Resized { from, to } = resized;
        details["resized"] = json!({ "from": [from.0, from.1], "to": [to.0, to.1] });
    }
    Ok(ToolOutput { content: vec![Content::text(text), image], details: Some(details) })
}

/// An image as content of a message.
struct ImageContent {
    image: Content,
    mime_type: &'static str,
    size: usize,
    resized: Option<Resized>,
}

fn content(
    (bytes, mime_type): (Vec<u8>, &'static str),
    sizes: ImageSizes,
) -> Result<ImageContent, String> {
    let smaller = fit(&bytes, mime_type, sizes).map_err(|error| error.to_string())?;
    let (bytes, mime_type, resized) = match smaller {
        Some(smaller) => (smaller.bytes, smaller.mime_type, Some(smaller.resized)),
        None => {
            check(&bytes, mime_type).map_err(|error| error.to_string())?;
            (bytes, mime_type, None)
        }
    };
    let image = Content::Image { data: BASE64.encode(&bytes), mime_type: mime_type.to_owned() };
    Ok(ImageContent { image, mime_type, size: bytes.len(), resized })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{ImageFormat, RgbImage};

    use super::*;

    async fn output(bytes: Vec<u8>, sizes: ImageSizes) -> Result<ToolOutput, String> {
        let made = image_output((bytes, "image/png"), sizes, "a.png", "a.png".to_owned()).await;
        made.map_err(|error| error.message())
    }

    #[test]
    async fn an_image_is_given_as_it_is_or_smaller_with_how_much() {
        let mut bytes = Vec::new();
        let image = RgbImage::new(4_000, 20);
        image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
        let whole = output(bytes.clone(), ImageSizes::AsTheyAre).await.unwrap();
        let expected =
            Content::Image { data: BASE64.encode(&bytes), mime_type: "image/png".into() };
        assert_eq!(whole.content[1], expected);
        let smaller = output(bytes.clone(), ImageSizes::Fitted).await.unwrap();
        let Content::Text { text } = &smaller.content[0] else { panic!("{smaller:?}") };
        assert!(text.starts_with("a.png is an image (image/png, "), "{text}");
        assert!(text.contains("original 4000x20, shown at 2000x10"), "{text}");
        let details = smaller.details.unwrap();
        assert_eq!(details["resized"], json!({ "from": [4000, 20], "to": [2000, 10] }));
        bytes.truncate(bytes.len() / 2);
        for sizes in [ImageSizes::Fitted, ImageSizes::AsTheyAre] {
            let refused = output(bytes.clone(), sizes).await.unwrap_err();
            assert!(
                refused.starts_with("`a.png` is not an image that a model takes ("),
                "{refused}"
            );
        }
    }
}
