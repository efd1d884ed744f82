//! The projections by example: given these facts, a client gets this. One file per topic.

mod profiles;
mod responses;

use holdpoint_protocol::chunk::Chunks;

use super::*;
use crate::notation::facts;

/// The output in short: the types of the chunks, `…` for deltas, and `|` at the end of a segment.
fn short(written: &[Out]) -> String {
    let texts = written.iter().map(|out| match out {
        Out::Chunks(chunks) => short_chunks(chunks),
        Out::End => "|".to_owned(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn short_chunks(chunks: &Chunks) -> String {
    match chunks {
        Chunks::One(chunk) => {
            let json = serde_json::to_value(chunk).expect("a chunk");
            match json["preliminary"] == true {
                true => "preliminary".to_owned(),
                false => json["type"].as_str().expect("a type").to_owned(),
            }
        }
        Chunks::Run(_) => "…".to_owned(),
    }
}
