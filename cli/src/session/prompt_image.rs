//! The images of prompts: those with more pixels than models take are made smaller.

use std::io::Cursor;

use image::{
    DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits, imageops::FilterType,
};

/// The most pixels that a side of an image may have.
const LONGEST_SIDE: u32 = 2_000;

/// The most memory that an image may take while it is made smaller, in bytes.
const MEMORY: u64 = 512 << 20;

/// Whether images that have too many pixels are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageSizes {
    /// They are.
    Fitted,
    /// They stay as they are.
    AsTheyAre,
}

/// An image that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FittedImage {
    pub(super) bytes: Vec<u8>,
    pub(super) mime_type: &'static str,
    /// The width and height before and now, if it was made smaller.
    pub(super) resized: Option<Resized>,
}

/// The size of an image that was made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resized {
    pub(super) from: (u32, u32),
    pub(super) to: (u32, u32),
}

impl Resized {
    /// Returns what a model has to know to name places of the original.
    pub(super) fn for_model(self) -> String {
        let Self { from: (width, height), to: (new_width, new_height) } = self;
        let factor = f64::from(width.max(height)) / f64::from(new_width.max(new_height));
        format!(
            "[Image: original {width}x{height}, shown at {new_width}x{new_height}. Multiply \
             coordinates by {factor:.2} for those of the original.]"
        )
    }
}

/// Returns an image whose sides have at most [`LONGEST_SIDE`] pixels. One that is small enough stays
/// as it is, byte by byte.
///
/// # Errors
/// The image cannot be read, or is too large to be made smaller.
pub(super) fn fit(bytes: Vec<u8>, mime_type: &'static str) -> Result<FittedImage, String> {
    let failed = |error: image::ImageError| format!("not an image that can be read: {error}");
    let format = ImageFormat::from_mime_type(mime_type).ok_or("not a known kind of image")?;
    let size = reader(&bytes, format).into_dimensions().map_err(failed)?;
    if size.0.max(size.1) <= LONGEST_SIDE {
        return Ok(FittedImage { bytes, mime_type, resized: None });
    }
    let mut decoder = reader(&bytes, format).into_decoder().map_err(failed)?;
    let orientation = decoder.orientation().map_err(failed)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(failed)?;
    image = image.resize(LONGEST_SIDE, LONGEST_SIDE, FilterType::Triangle);
    image.apply_orientation(orientation);
    let to = (image.width(), image.height());
    let (format, mime_type) = match format {
        // It has no transparency, and may be a photograph, of which a PNG would be large.
        ImageFormat::Jpeg => (ImageFormat::Jpeg, "image/jpeg"),
        _ => (ImageFormat::Png, "image/png"),
    };
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), format).map_err(failed)?;
    let turned = (to.0 > to.1) != (size.0 > size.1);
    let from = if turned { (size.1, size.0) } else { size };
    Ok(FittedImage { bytes, mime_type, resized: Some(Resized { from, to }) })
}

fn reader(bytes: &[u8], format: ImageFormat) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    reader
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
        let bytes = encoded(2_000, 3, ImageFormat::Png);
        let fitted = fit(bytes.clone(), "image/png").unwrap();
        assert_eq!(fitted, FittedImage { bytes, mime_type: "image/png", resized: None });
    }

    #[test]
    fn an_image_with_too_many_pixels_is_made_smaller_in_its_proportions() {
        for (format, mime_type, becomes) in [
            (ImageFormat::Png, "image/png", "image/png"),
            (ImageFormat::Jpeg, "image/jpeg", "image/jpeg"),
            (ImageFormat::Gif, "image/gif", "image/png"),
            (ImageFormat::WebP, "image/webp", "image/png"),
        ] {
            let fitted = fit(encoded(2_400, 60, format), mime_type).unwrap();
            assert_eq!(fitted.mime_type, becomes);
            let resized = Resized { from: (2_400, 60), to: (2_000, 50) };
            assert_eq!(fitted.resized, Some(resized), "{mime_type}");
            let format = ImageFormat::from_mime_type(becomes).unwrap();
            assert_eq!(reader(&fitted.bytes, format).into_dimensions().unwrap(), (2_000, 50));
            assert!(resized.for_model().contains("by 1.20"), "{}", resized.for_model());
        }
    }

    #[test]
    fn what_is_torn_or_would_take_too_much_memory_is_an_error_and_no_panic() {
        let mut torn = encoded(2_400, 60, ImageFormat::Png);
        torn.truncate(torn.len() / 2);
        assert!(fit(torn, "image/png").is_err());
        assert!(fit(b"\x89PNG\r\n\x1a\n".to_vec(), "image/png").is_err());
        // Its header says that it has 10 billion pixels.
        let mut bomb = encoded(1, 1, ImageFormat::Png);
        bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
        let crc = crc32(&bomb[12..29]).to_be_bytes();
        bomb[29..33].copy_from_slice(&crc);
        assert!(fit(bomb, "image/png").is_err());
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
