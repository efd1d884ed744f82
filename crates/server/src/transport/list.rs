//! JSON arrays, written in pieces so that the output is never in memory as a whole.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::Serialize;

use crate::request::Held;

/// The approximate size of one write.
const WRITE_BYTES: usize = 64 * 1024;

/// The response. Each item is made when it is written. The bytes in flight are released once all are, or when the client
/// stops reading.
pub(super) fn array<I>(items: I, held: Held) -> Response
where
    I: IntoIterator<Item: Serialize, IntoIter: Send + 'static>,
{
    let body =
        futures::stream::unfold(Some((Array { items: items.into_iter(), is_begun: false }, held)), async |state| {
            let (mut array, held) = state?;
            let mut out = Vec::new();
            let goes_on = array.write(&mut out);
            Some((Ok::<_, Infallible>(Bytes::from(out)), goes_on.then_some((array, held))))
        });
    ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response()
}

/// A list that is JSON text already.
pub(super) fn text(bytes: Vec<u8>, held: Held) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], whole(bytes, held)).into_response()
}

/// A body that is in memory, in pieces: the connection copies each into a buffer that keeps its size until the connection
/// ends. Its bytes in flight are released like an array's.
pub(super) fn whole(bytes: Vec<u8>, held: Held) -> Body {
    Body::from_stream(futures::stream::unfold((Bytes::from(bytes), held), async |(mut rest, held)| {
        let piece = rest.split_to(rest.len().min(WRITE_BYTES));
        (!piece.is_empty()).then(|| (Ok::<_, Infallible>(piece), (rest, held)))
    }))
}

struct Array<I> {
    items: I,
    is_begun: bool,
}

impl<I: Iterator<Item: Serialize>> Array<I> {
    /// Writes the next piece; returns `false` after the last one.
    fn write(&mut self, out: &mut Vec<u8>) -> bool {
        while out.len() < WRITE_BYTES {
            let mark = if std::mem::replace(&mut self.is_begun, true) { b',' } else { b'[' };
            match self.items.next() {
                Some(item) => {
                    out.push(mark);
                    // This can't fail: all keys are strings, and the writer is memory.
                    let _ = serde_json::to_writer(&mut *out, &item);
                }
                None => {
                    if mark == b'[' {
                        out.push(mark);
                    }
                    out.push(b']');
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    fn written<T: Serialize>(items: Vec<T>) -> (String, usize) {
        let mut array = Array { items: items.into_iter(), is_begun: false };
        let (mut out, mut pieces) = (Vec::new(), 1);
        loop {
            let mut piece = Vec::new();
            let goes_on = array.write(&mut piece);
            out.append(&mut piece);
            if !goes_on {
                return (String::from_utf8(out).expect("text"), pieces);
            }
            pieces += 1;
        }
    }

    #[test]
    fn it_is_the_same_array_in_pieces() {
        assert_eq!(written(Vec::<u8>::new()), ("[]".to_owned(), 1));
        assert_eq!(written(vec![1]), ("[1]".to_owned(), 1));
        assert_eq!(written(vec!["a", "b"]), (r#"["a","b"]"#.to_owned(), 1));
        let long = vec!["x".repeat(WRITE_BYTES / 2); 10];
        let (text, pieces) = written(long.clone());
        assert_eq!(text, serde_json::to_string(&long).expect("JSON"));
        assert!(pieces >= 5, "{pieces}");
    }

    /// Otherwise every connection keeps a buffer of the size of the largest file that it has read.
    #[tokio::test]
    async fn what_is_in_memory_is_written_in_pieces() {
        for length in [0, 1, WRITE_BYTES, WRITE_BYTES + 1, 10 * WRITE_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let pieces: Vec<_> = whole(bytes.clone(), Held::default()).into_data_stream().collect().await;
            let pieces: Vec<Bytes> = pieces.into_iter().map(|piece| piece.expect("a piece")).collect();
            assert!(pieces.iter().all(|piece| piece.len() <= WRITE_BYTES), "{length}");
            assert_eq!(pieces.concat(), bytes);
        }
    }
}
