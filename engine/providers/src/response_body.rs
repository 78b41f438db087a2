//! The body of a response. One that is compressed, though no request asks for that, is decoded.

use std::io::{self, Write as _};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use reqwest::Response;

/// How every gzip file begins, and no text.
const GZIP: u8 = 0x1f;

/// The body of a response.
pub(crate) struct ResponseBody {
    response: Response,
    encoding: Encoding,
}

enum Encoding {
    /// Not known before the first byte.
    Unknown,
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

/// The body of a response cannot be read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// The connection was lost.
    Lost(reqwest::Error),
    /// It begins as gzip, and is something else.
    Corrupt(io::Error),
}

impl ResponseBody {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, encoding: Encoding::Unknown }
    }

    /// Returns the next piece, which may be empty; `None` after the last.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let Some(chunk) = self.response.chunk().await.map_err(BodyError::Lost)? else {
            return Ok(None);
        };
        self.encoding.decode(chunk).map(Some).map_err(BodyError::Corrupt)
    }
}

impl Encoding {
    fn decode(&mut self, chunk: Bytes) -> io::Result<Bytes> {
        if let (Self::Unknown, Some(first)) = (&*self, chunk.first()) {
            *self = match *first {
                GZIP => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                _ => Self::Plain,
            };
        }
        let Self::Gzip(decoder) = self else { return Ok(chunk) };
        decoder.write_all(&chunk)?;
        decoder.flush()?;
        Ok(std::mem::take(decoder.get_mut()).into())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_body_is_decoded_however_it_is_cut_and_a_plain_one_stays() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all("Grüße\n".repeat(99).as_bytes()).unwrap();
        encoder.flush().unwrap();
        let compressed = encoder.finish().unwrap();
        for (body, text) in
            [(compressed.as_slice(), "Grüße\n".repeat(99)), (b"plain", "plain".to_owned())]
        {
            for size in [1, 7, 1000] {
                let mut encoding = Encoding::Unknown;
                let decoded = body.chunks(size).flat_map(|chunk| {
                    encoding.decode(Bytes::copy_from_slice(chunk)).unwrap().to_vec()
                });
                assert_eq!(String::from_utf8(decoded.collect()).unwrap(), text, "{size}");
            }
        }
        assert!(Encoding::Unknown.decode(Bytes::from_static(b"\x1fno gzip at all")).is_err());
    }
}
