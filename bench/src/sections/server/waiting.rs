//! Waiting connections: the memory that each costs the server, and the latency of an answer while all are open.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::process::Process;
use crate::{
    measure::Samples,
    report::{Report, Target, Unit},
};

/// How long the server has to become idle.
const PAUSE: Duration = Duration::from_secs(2);
/// The number of timed answers.
const ANSWERS: usize = 200;

/// A kind of waiting connection.
struct Way {
    what: &'static str,
    /// What the process serves.
    serves: &'static str,
    /// The request; `N` stands for the number of the connection.
    request: &'static str,
    /// What the server has sent once it waits.
    until: &'static str,
    /// The maximum number of bytes per connection.
    target: Option<f64>,
}

const HANDSHAKE: &str = "host: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                         sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

const WAYS: &[Way] = &[
    Way {
        what: "plain hyper, a stream that waits",
        serves: "bare",
        request: "POST /waits HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n",
        until: "data: waits",
        target: None,
    },
    Way {
        what: "`GET /api/events`",
        serves: "waiting",
        request: "GET /api/events HTTP/1.1\r\nhost: localhost\r\n\r\n",
        until: "ready",
        target: Some(14_000.0),
    },
    Way {
        what: "`POST /stream`, waiting for a browser's result",
        serves: "waiting",
        request: "POST /stream HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: LENGTH\r\n\r\nBODY",
        until: "tool-input-available",
        target: None,
    },
    Way {
        what: "`/live`, a socket that waits",
        serves: "waiting",
        request: "GET /live HTTP/1.1\r\nHANDSHAKE",
        until: "\r\n\r\n",
        target: Some(20_000.0),
    },
];

/// Opens `count` connections of each kind, each kind in its own process.
pub(super) fn run(count: usize, report: &mut Report) {
    for way in WAYS {
        let mut process = Process::start(&["serve", way.serves]);
        let Some(before) = process.resident() else {
            eprintln!("this system does not tell the resident memory of a process: its rows are left out");
            return;
        };
        let (streams, calls) = open(&process, way, count);
        std::thread::sleep(PAUSE);
        let after = process.resident().unwrap_or(before);
        let each = (after - before) as f64 / count as f64;
        report.exact(format!("{count} open: {}, each", way.what), Unit::Bytes, each, way.target.map(Target::AtMost));
        if !calls.is_empty() {
            let taken = answers(&process, &calls);
            report.sampled("… while they are open: an ack, to its 200", Unit::Micros, &taken, None);
            report.exact("… the slowest of 100", Unit::Micros, taken.highest(), None);
        }
        drop(streams);
    }
}

fn open(process: &Process, way: &Way, count: usize) -> (Vec<TcpStream>, Vec<String>) {
    let (mut streams, mut calls) = (Vec::with_capacity(count), Vec::new());
    for number in 0..count {
        let body = format!(
            r#"{{"id":"waiting-{number}","messages":[{{"id":"m","role":"user","parts":[{{"type":"text","text":"Open it"}}]}}]}}"#
        );
        let request = way.request.replace("HANDSHAKE", HANDSHAKE);
        let request = request.replace("LENGTH", &body.len().to_string()).replace("BODY", &body);
        let mut stream = process.open();
        stream.write_all(request.as_bytes()).expect("a request is sent");
        let said = read_until(&mut stream, way.until);
        if calls.len() < ANSWERS && number % (count / ANSWERS).max(1) == 0 {
            calls.extend(call_of(&said));
        }
        streams.push(stream);
    }
    (streams, calls)
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let (mut said, mut piece) = (String::new(), [0; 4096]);
    while !said.contains(end) {
        let read = stream.read(&mut piece).expect("a response");
        assert!(read > 0, "{end:?} never came: {said}");
        said.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    said
}

/// The id of the waiting call in what a stream has sent.
fn call_of(said: &str) -> Option<String> {
    let (_, after) = said.split_once(r#""toolCallId":""#)?;
    after.split_once('"').map(|(call, _)| call.to_owned())
}

/// Microseconds from an ack to its response.
fn answers(process: &Process, calls: &[String]) -> Samples {
    let mut stream = process.open();
    let taken = calls.iter().map(|call| {
        let body = format!(
            r#"{{"toolCallId":"{call}","status":"success","output":{{"ok":true}},"requestedAt":"2026-01-01T00:00:00.000Z"}}"#
        );
        let length = body.len();
        let head = "POST /api/tools/ack HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        let begun = Instant::now();
        let request = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("a request is sent");
        let answer = read_until(&mut stream, "}");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        begun.elapsed().as_secs_f64() * 1e6
    });
    Samples(taken.collect())
}
