//! The projections by example: given these facts, a client gets this. One file per topic.

mod profiles;
mod responses;

use holdpoint_protocol::chunk::Chunks;

use super::*;
use crate::notation::facts;

/// The output in short: the types of the chunks, `…` for deltas, and `|` at the end of a segment.
fn short(written: &[Event]) -> String {
    let texts = written.iter().map(|event| short_chunks(event.clone()));
    texts.collect::<Vec<_>>().join(" ")
}

fn short_chunks(event: Event) -> String {
    match event.into_chunks() {
        None => "|".to_owned(),
        Some(Chunks::One(chunk)) => {
            let json = serde_json::to_value(chunk).expect("a chunk");
            match json["preliminary"] == true {
                true => "preliminary".to_owned(),
                false => json["type"].as_str().expect("a type").to_owned(),
            }
        }
        Some(Chunks::Run(_)) => "…".to_owned(),
    }
}
