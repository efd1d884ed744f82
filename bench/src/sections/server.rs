//! `crates/runtime` and `crates/server`: the cost of a chunk of `POST /stream` compared with a bare handler, and of an
//! open hold.
//!
//! The measured code runs in its own process, which is this program again. The client runs here and is not counted.

mod bare;
mod holds;
mod models;
mod process;
mod serve;
mod waiting;

use std::process::ExitCode;

use process::{Connection, Process};

use crate::{
    measure::{Effort, Samples},
    report::{Report, Target, Unit},
};

/// The number of text deltas in a turn.
const DELTAS: usize = 20_000;

/// One way to stream a turn.
struct Way {
    what: &'static str,
    /// What the process serves: see [`serve::run`].
    serves: &'static str,
    path: &'static str,
    headers: &'static str,
    /// The comparison with the first way, if there is one.
    target: Option<Compare>,
}

/// A comparison with the bare handler.
struct Compare {
    what: &'static str,
    target: Option<f64>,
}

const PROGRESSIVE: &str = "x-holdpoint-text: progressive\r\n";

/// The bare handler comes first, because the others are compared with it.
const WAYS: &[Way] = &[
    Way {
        what: "a bare axum handler, 256 chunks at once",
        serves: "bare",
        path: "/together",
        headers: "",
        target: None,
    },
    Way {
        what: "… that has its chunks ready-made",
        serves: "bare",
        path: "/ready-made",
        headers: "",
        target: Some(Compare { what: "… as a part of the bare handler", target: None }),
    },
    Way {
        what: "… that writes each chunk by itself",
        serves: "bare",
        path: "/each",
        headers: "",
        target: Some(Compare { what: "… as a multiple of the bare handler", target: None }),
    },
    Way {
        what: "`POST /stream`, in memory",
        serves: "memory",
        path: "/stream",
        headers: PROGRESSIVE,
        target: Some(Compare { what: "… in memory: as a multiple of the bare handler", target: Some(2.0) }),
    },
    Way {
        what: "`POST /stream`, SQLite",
        serves: "sqlite",
        path: "/stream",
        headers: PROGRESSIVE,
        target: Some(Compare { what: "… SQLite: as a multiple of the bare handler", target: Some(2.0) }),
    },
    Way {
        what: "`POST /stream`, in memory, text held back",
        serves: "memory",
        path: "/stream",
        headers: "",
        target: Some(Compare { what: "… held back: as a multiple of the bare handler", target: Some(2.0) }),
    },
    Way {
        what: "`POST /stream`, SQLite, text held back",
        serves: "sqlite",
        path: "/stream",
        headers: "",
        target: Some(Compare { what: "… SQLite, held back: as a multiple of the bare handler", target: Some(2.0) }),
    },
];

pub(super) fn run(effort: &Effort) -> Report {
    let mut report = Report::default();
    stream(effort, &mut report);
    open_holds(effort, &mut report);
    report
}

/// Waiting connections.
pub(super) fn waits(effort: &Effort) -> Report {
    let mut report = Report::default();
    waiting::run(effort.waiting, &mut report);
    report
}

/// The measured process.
pub(crate) fn child(args: &[String]) -> ExitCode {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    process::listen();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match args[..] {
        ["serve", what, folder] => runtime.block_on(serve::run(what, folder.as_ref())),
        ["holds", count, folder] => {
            runtime.block_on(holds::run(count.parse().expect("a count"), folder.as_ref()));
        }
        _ => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

fn stream(effort: &Effort, report: &mut Report) {
    let mut servers = ["bare", "memory", "sqlite"].map(|what| (what, Process::start(&["serve", what])));
    let mut streams: Vec<Stream> = WAYS.iter().map(|way| Stream::new(way, server(&mut servers, way))).collect();
    let mut nanos = vec![Vec::with_capacity(effort.rounds); WAYS.len()];
    // Interleaved, so that a busy moment of the machine affects all alike.
    for _ in 0..effort.rounds {
        for (stream, nanos) in streams.iter_mut().zip(&mut nanos) {
            nanos.push(stream.sample(server(&mut servers, stream.way), effort.turns));
        }
    }
    let nanos: Vec<Samples> = nanos.into_iter().map(Samples).collect();
    for (way, own) in WAYS.iter().zip(&nanos) {
        report.sampled(format!("CPU for a chunk: {}", way.what), Unit::Nanos, own, None);
        if let Some(Compare { what, target }) = &way.target {
            report.sampled(*what, Unit::Times, &own.times(&nanos[0]), target.map(Target::AtMost));
        }
    }
}

fn server<'a>(servers: &'a mut [(&str, Process)], way: &Way) -> &'a mut Process {
    let found = servers.iter_mut().find(|(what, _)| *what == way.serves);
    &mut found.expect("a server of that name").1
}

/// A sequence of turns on one connection.
struct Stream {
    way: &'static Way,
    connection: Connection,
    /// The number of chunks in a turn.
    chunks: usize,
    chats: usize,
}

impl Stream {
    fn new(way: &'static Way, server: &Process) -> Self {
        let mut stream = Self { way, connection: server.connect(), chunks: 0, chats: 0 };
        // The first turn is not counted. It verifies that all send the same.
        let body = stream.turn(true);
        stream.chunks = body.windows(7).filter(|bytes| bytes == b"data: {").count();
        assert_eq!(stream.chunks, DELTAS + 4, "start, the text with its two ends, finish: {}", way.what);
        assert!(body.ends_with(b"data: [DONE]\n\n\r\n0\r\n\r\n"), "{}", way.what);
        stream
    }

    /// CPU nanoseconds per chunk. Deleting the chats afterwards is not counted.
    fn sample(&mut self, server: &mut Process, turns: usize) -> f64 {
        let before = server.cpu();
        for _ in 0..turns {
            self.turn(false);
        }
        let spent = server.cpu() - before;
        for chat in self.chats - turns..self.chats {
            server.forget(&self.chat(chat));
        }
        spent as f64 / (turns * self.chunks) as f64
    }

    /// A turn in a new chat.
    fn turn(&mut self, is_kept: bool) -> Vec<u8> {
        let chat = self.chat(self.chats);
        self.chats += 1;
        let body = format!(
            r#"{{"id":"{chat}","messages":[{{"id":"m","role":"user","parts":[{{"type":"text","text":"Tell me all"}}]}}]}}"#
        );
        self.connection.post(self.way.path, self.way.headers, &body, is_kept)
    }

    fn chat(&self, number: usize) -> String {
        let text = if self.way.headers.is_empty() { "held" } else { "progressive" };
        format!("{text}-{number}")
    }
}

fn open_holds(effort: &Effort, report: &mut Report) {
    let count = effort.holds;
    let mut process = Process::start(&["holds", &count.to_string()]);
    let said = process.said();
    let (Ok(before), Ok(after)) = (said[0].parse::<f64>(), said[1].parse::<f64>()) else {
        eprintln!("this system does not tell the resident memory of a process: the row about it is left out");
        return;
    };
    let what = format!("resident memory for each of {count} open holds");
    report.exact(what, Unit::Bytes, (after - before) / count as f64, Some(Target::AtMost(2000.0)));
    report.exact("… that of a server without any", Unit::Size, before / 1e6, None);
}
