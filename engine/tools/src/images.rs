//! Images for models, of prompts and of files that are read: those with more pixels than models take are
//! made smaller.

use std::io::Cursor;

use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits};

/// The size of the largest image that a model gets, in bytes, before it is made smaller.
pub const LARGEST_IMAGE: u64 = 25 << 20;

/// The most pixels that a side of an image may have.
const LONGEST_SIDE: u32 = 2_000;

/// The most memory that an image may take while it is made smaller, in bytes.
const MEMORY: u64 = 512 << 20;

/// Whether images that have too many pixels are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSizes {
    /// They are.
    Fitted,
    /// They stay as they are.
    AsTheyAre,
}

/// An image that was made smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallerImage {
    /// The image.
    pub bytes: Vec<u8>,
    /// Its media type.
    pub mime_type: &'static str,
    /// Its size.
    pub resized: Resized,
}

/// The size of an image that was made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// The width and the height of the original.
    pub from: (u32, u32),
    /// Those of the smaller image.
    pub to: (u32, u32),
}

impl Resized {
    /// Returns what a model has to know to name places of the original.
    #[must_use]
    pub fn for_model(self) -> String {
        let Self { from: (width, height), to: (new_width, new_height) } = self;
        let factor = f64::from(width.max(height)) / f64::from(new_width.max(new_height));
        format!(
            "[Image: original {width}x{height}, shown at {new_width}x{new_height}. Multiply \
             coordinates by {factor:.2} for those of the original.]"
        )
    }
}

/// Returns the media type of a file that is an image, by its first bytes.
#[must_use]
pub fn image_type(beginning: &[u8]) -> Option<&'static str> {
    match beginning {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Fails if something in an image is not as its format has it. Providers refuse such an image, in each
/// request that has it.
pub(crate) fn check(bytes: &[u8], mime_type: &str) -> Result<(), ImageError> {
    match ImageFormat::from_mime_type(mime_type) {
        Some(format) => reader(bytes, format).decode().map(drop),
        None => Ok(()),
    }
}

/// Returns an image whose sides have at most 2,000 pixels. `None` if it stays as it is: it is
/// small enough, its size is not known, or `sizes` says so.
///
/// # Errors
/// The image is too large, and cannot be made smaller.
pub fn fit(
    bytes: &[u8],
    mime_type: &str,
    sizes: ImageSizes,
) -> Result<Option<SmallerImage>, ImageError> {
    if sizes == ImageSizes::AsTheyAre {
        return Ok(None);
    }
    let Some(format) = ImageFormat::from_mime_type(mime_type) else { return Ok(None) };
    let Ok(size) = reader(bytes, format).into_dimensions() else { return Ok(None) };
    if size.0.max(size.1) <= LONGEST_SIDE {
        return Ok(None);
    }
    let mut decoder = reader(bytes, format).into_decoder()?;
    // Nothing checks the memory of the whole image unless it is reserved.
    let mut limits = limits();
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    let image = DynamicImage::from_decoder(decoder)?;
    let mut image = image.resize(LONGEST_SIDE, LONGEST_SIDE, FilterType::Triangle);
    let is_wide = image.width() > image.height();
    image.apply_orientation(orientation);
    let to = (image.width(), image.height());
    let (format, mime_type) = match format {
        // It has no transparency, and may be a photograph, of which a PNG would be large.
        ImageFormat::Jpeg => (ImageFormat::Jpeg, "image/jpeg"),
        _ => (ImageFormat::Png, "image/png"),
    };
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format)?;
    let from = if is_wide == (to.0 > to.1) { size } else { (size.1, size.0) };
    Ok(Some(SmallerImage { bytes, mime_type, resized: Resized { from, to } }))
}

fn reader(bytes: &[u8], format: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits());
    reader
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    limits
}

#[cfg(test)]
mod tests {
    use image::RgbImage;

    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        let image = RgbImage::from_fn(width, height, |x, _| image::Rgb([(x % 256) as u8, 0, 0]));
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    #[test]
    fn an_image_that_fits_stays_as_it_is_byte_by_byte() {
        let fit = |bytes: &[u8], sizes| fit(bytes, "image/png", sizes).unwrap();
        let (large, small) = [2_001, 2_000].map(|width| encoded(width, 3, ImageFormat::Png)).into();
        assert_eq!(fit(&small, ImageSizes::Fitted), None);
        assert_eq!(fit(b"\x89PNG\r\n\x1a\nodd", ImageSizes::Fitted), None, "nobody knows it");
        assert_eq!(fit(&large, ImageSizes::AsTheyAre), None);
    }

    #[test]
    fn an_image_with_too_many_pixels_is_made_smaller_in_its_proportions() {
        for (format, mime_type, becomes) in [
            (ImageFormat::Png, "image/png", "image/png"),
            (ImageFormat::Jpeg, "image/jpeg", "image/jpeg"),
            (ImageFormat::Gif, "image/gif", "image/png"),
            (ImageFormat::WebP, "image/webp", "image/png"),
        ] {
            let fitted =
                fit(&encoded(2_400, 60, format), mime_type, ImageSizes::Fitted).unwrap().unwrap();
            assert_eq!(fitted.mime_type, becomes);
            let resized = Resized { from: (2_400, 60), to: (2_000, 50) };
            assert_eq!(fitted.resized, resized, "{mime_type}");
            let format = ImageFormat::from_mime_type(becomes).unwrap();
            assert_eq!(reader(&fitted.bytes, format).into_dimensions().unwrap(), (2_000, 50));
            assert!(resized.for_model().contains("by 1.20"), "{}", resized.for_model());
        }
    }

    #[test]
    fn what_is_torn_or_would_take_too_much_memory_is_an_error_and_no_panic() {
        let mut torn = encoded(2_400, 60, ImageFormat::Png);
        torn.truncate(torn.len() / 2);
        assert!(fit(&torn, "image/png", ImageSizes::Fitted).is_err());
        assert!(check(&torn, "image/png").is_err());
        // Its header says that it has 10 billion pixels.
        let mut bomb = encoded(1, 1, ImageFormat::Png);
        bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
        let crc = crc32(&bomb[12..29]).to_be_bytes();
        bomb[29..33].copy_from_slice(&crc);
        assert!(fit(&bomb, "image/png", ImageSizes::Fitted).is_err());
        assert!(check(&bomb, "image/png").is_err());
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let step = |crc: u32, byte: &u8| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
            })
        };
        !bytes.iter().fold(!0, step)
    }
}
