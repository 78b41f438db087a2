//! The body of a response. One that is compressed, though no request asks for that, is decoded.

use std::io::{self, Write as _};

use bytes::{Buf as _, Bytes};
use flate2::write::MultiGzDecoder;
use reqwest::Response;

/// How every gzip file begins, and no text.
const GZIP: u8 = 0x1f;

/// How many bytes a piece of what was compressed has at most, but for those that the decoder holds back:
/// gzip can make a thousand bytes of one, and who reads has limits.
const PIECE: usize = 64 << 10;

/// The body of a response.
pub(crate) struct ResponseBody {
    response: Response,
    encoding: Encoding,
    /// What has come and is not decoded yet.
    rest: Bytes,
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
        Self { response, encoding: Encoding::Unknown, rest: Bytes::new() }
    }

    /// Returns the next piece, which may be empty; `None` after the last.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        if self.rest.is_empty() {
            match self.response.chunk().await.map_err(BodyError::Lost)? {
                Some(chunk) => self.rest = chunk,
                None => return Ok(None),
            }
        }
        self.encoding.decode(&mut self.rest).map(Some).map_err(BodyError::Corrupt)
    }
}

impl Encoding {
    /// Takes bytes from `rest`, all if it can, and returns what they say.
    fn decode(&mut self, rest: &mut Bytes) -> io::Result<Bytes> {
        if let (Self::Unknown, Some(first)) = (&*self, rest.first()) {
            *self = match *first {
                GZIP => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                _ => Self::Plain,
            };
        }
        let Self::Gzip(decoder) = self else { return Ok(std::mem::take(rest)) };
        // One write fills the buffer of the decoder once.
        while !rest.is_empty() && decoder.get_ref().len() < PIECE {
            match decoder.write(rest)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest.advance(written),
            }
        }
        if rest.is_empty() {
            decoder.flush()?;
        }
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
                    let mut rest = Bytes::copy_from_slice(chunk);
                    let decoded = encoding.decode(&mut rest).unwrap().to_vec();
                    assert!(rest.is_empty());
                    decoded
                });
                assert_eq!(String::from_utf8(decoded.collect()).unwrap(), text, "{size}");
            }
        }
        let mut corrupt = Bytes::from_static(b"\x1fno gzip at all");
        assert!(Encoding::Unknown.decode(&mut corrupt).is_err());
    }

    #[test]
    fn what_a_chunk_says_comes_in_pieces_however_much_it_is() {
        let all = vec![0; 4 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&all).unwrap();
        let (mut rest, mut encoding) = (Bytes::from(encoder.finish().unwrap()), Encoding::Unknown);
        let mut length = 0;
        while !rest.is_empty() {
            let piece = encoding.decode(&mut rest).unwrap();
            assert!(piece.len() <= 2 * PIECE, "{}", piece.len());
            length += piece.len();
        }
        assert_eq!(length, all.len());
    }
}
