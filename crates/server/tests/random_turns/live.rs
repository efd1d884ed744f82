//! A client of `/live`: one that reads everything, or one that drops what comes between `finish-step` and its next
//! request, as the specification's own does.

use futures::{SinkExt, StreamExt};
use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker},
    message::{ToolPart, ToolState},
};
use serde_json::{Value, json};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use super::{
    Failure, STOPPED, WAIT, World, chat_id,
    client::{Answer, Client, Sends, call_of, decide_elsewhere, stop_elsewhere},
    random::Random,
    script::{APPROVAL, BROWSER, Script, is_frontend, needs_approval},
};

struct Line<'a> {
    world: &'a World,
    client: Client,
    socket: WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>,
    /// Sees every frame, also those that the client drops.
    checker: StreamChecker,
    lines: u64,
    is_dropping: bool,
    pings: u64,
    random: Random,
}

pub(crate) async fn play(world: &World, seed: u64) -> Result<(), Failure> {
    let mut random = Random::new(seed);
    let script = Script::random(&mut random);
    let kinds = [Sends::AtOnce, Sends::ByTiming, Sends::ByOrder, Sends::Ours];
    let mut client = Client::new(chat_id("live", seed).as_str(), random.pick(&kinds), true);
    client.say(&script);
    let is_dropping = random.chance(50);
    client.note(format!("-- drops {is_dropping}"));
    let checker = StreamChecker::new(Options { profile: Profile::AdkLive, progressive_text: false });
    let socket = connect(world, "").await;
    let mut line = Line { world, client, socket, checker, lines: 0, is_dropping, pings: 0, random };
    let mut stops = Random::aside(seed);
    let first = line.client.clone();
    let mut last = first.clone();
    line.send().await?;
    line.read().await?;
    for _ in 0..40 {
        if line.client.has_ended() {
            line.client.judge(world, &script).await?;
            return line.repeat_all(&first, &last, &script).await;
        }
        let Some(call) = line.client.calls(ToolState::ApprovalRequested).pop() else {
            return Err(line.client.failure("the client waits for nothing that could come"));
        };
        if stops.chance(STOPPED) {
            return line.answer_after_stop(&call).await;
        }
        if line.random.chance(10) {
            line.reconnect("?id").await;
            line.client.begin_replay();
            line.read().await?;
            continue;
        }
        let before = line.client.clone();
        let elsewhere = line.elsewhere(&call).await?;
        let is_read = line.client.messages != before.messages;
        if is_read && line.random.chance(50) {
            continue;
        }
        let mut sent = before;
        sent.trace.clone_from(&line.client.trace);
        let mut answer = line.decide(&mut sent, &call);
        if answer == Answer::Approve && is_frontend(&call.name) && !sent.is_sending(true) {
            // A client by our rule sends an approval together with the browser's result.
            answer = Answer::Output;
            sent.answer(&call.tool_call_id, answer);
        }
        let runs = match elsewhere {
            Elsewhere::Nothing => answer == Answer::Approve && is_frontend(&call.name),
            Elsewhere::Released => !matches!(answer, Answer::Output | Answer::Error),
            Elsewhere::Settled => false,
        };
        if !sent.is_sending(true) {
            return Err(sent.failure("the answer is never sent"));
        }
        line.drain().await?;
        if is_read {
            // The answer was under way when the push came.
            line.again(&sent, &script).await?;
            continue;
        }
        sent.trace.clone_from(&line.client.trace);
        line.client = sent;
        last = line.client.clone();
        line.send().await?;
        if runs {
            line.run(call.tool_call_id.as_str()).await;
        }
        line.read().await?;
        if line.random.chance(30) {
            line.again(&last, &script).await?;
        }
    }
    Err(line.client.failure("the turn does not end"))
}

async fn connect(world: &World, query: &str) -> WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>> {
    connect_async(format!("ws://{}/live{query}", world.server.address)).await.expect("connects").0
}

impl Line<'_> {
    /// Sends the messages.
    async fn send(&mut self) -> Result<(), Failure> {
        self.client.note("-- sends");
        self.client.begin();
        let frame = message(&self.client);
        self.frame(&frame).await
    }

    async fn frame(&mut self, frame: &Value) -> Result<(), Failure> {
        let sent = self.socket.send(Message::text(frame.to_string())).await;
        sent.map_err(|error| self.client.failure(error.to_string()))
    }

    /// The next record, or pong. The checker sees it.
    async fn next(&mut self) -> Result<String, Failure> {
        loop {
            let message = tokio::time::timeout(WAIT, self.socket.next()).await;
            let Ok(message) = message else { return Err(self.client.failure("nothing comes")) };
            let Some(Ok(message)) = message else { return Err(self.client.failure(format!("closed: {message:?}"))) };
            let Message::Text(text) = message else { continue };
            let Some(payload) = text.strip_prefix("data: ") else { return Ok(text.to_string()) };
            let payload = payload.trim_end().to_owned();
            self.lines += 1;
            self.checker.payload(self.lines, payload.as_bytes());
            if let Some(violation) = self.checker.take_violations().first() {
                self.client.note(payload);
                return Err(self.client.failure(format!("{} {}", violation.rule, violation.text)));
            }
            return Ok(payload);
        }
    }

    /// Reads what follows, up to the next place where the client acts. Browser tools run meanwhile.
    async fn read(&mut self) -> Result<(), Failure> {
        loop {
            let payload = self.next().await?;
            let chunk = self.client.take(&payload)?;
            if is_rest(&chunk) {
                return self.client.check_rest();
            }
            if is_to_run(&chunk) {
                self.run(&call_of(&chunk)).await;
            }
        }
    }

    /// Runs a call in the browser.
    async fn run(&mut self, call: &str) {
        let result = match self.random.index(6) {
            0 => {
                self.client.note(format!("-- {call} takes too long"));
                // The frames before are handled first.
                let _ = self.barrier().await;
                return self.world.server.clock.advance(BROWSER);
            }
            1 => json!({"type": "tool_result", "toolCallId": call, "errorText": "the camera is covered"}),
            _ => json!({"type": "tool_result", "toolCallId": call, "result": {"seen": call}}),
        };
        self.client.note(format!("-- result {call}"));
        let _ = self.frame(&result).await;
    }

    /// Waits until the server has handled every frame so far. What comes meanwhile is kept for the reader.
    async fn barrier(&mut self) -> Result<(), Failure> {
        // An approval in a message is in force once anybody can see it.
        let path = format!("/api/chat/{}/holds?calls=all", self.client.chat);
        for _ in 0..500 {
            let (_, holds) = self.world.get(&path).await;
            let waits = holds.as_array().into_iter().flatten().any(|hold| hold["state"] == "running");
            if waits {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// Something is decided elsewhere, or expires, and is pushed.
    async fn elsewhere(&mut self, call: &ToolPart) -> Result<Elsewhere, Failure> {
        match self.random.index(8) {
            0 | 1 => {
                let approved = self.random.chance(60);
                self.client.note(format!("-- the inbox: {approved} {}", call.tool_call_id));
                decide_elsewhere(self.world, call, approved).await;
                if approved && is_frontend(&call.name) {
                    // It waits for this browser.
                    return Ok(Elsewhere::Released);
                }
            }
            2 if matches!(call.name.as_str(), "pay" | "photo") => {
                self.client.note("-- nobody decides in time");
                self.world.server.clock.advance(APPROVAL);
            }
            _ => return Ok(Elsewhere::Nothing),
        }
        if self.random.chance(20) {
            // The first answer comes at the same time, and its response is lost among what is pushed.
            let mut hasty = self.client.clone();
            hasty.answer(&call.tool_call_id, Answer::Approve);
            self.client.note("-- answers at the same time");
            let frame = message(&hasty);
            self.frame(&frame).await?;
        } else if !self.is_dropping {
            self.client.begin();
            self.read().await?;
            return Ok(Elsewhere::Settled);
        }
        loop {
            let payload = self.next().await?;
            self.client.note(format!("-- drops {}", payload.chars().take(150).collect::<String>()));
            let chunk: Value = serde_json::from_str(&payload).unwrap_or_else(|_| json!(payload));
            if is_rest(&chunk) || is_to_run(&chunk) {
                return Ok(Elsewhere::Settled);
            }
        }
    }

    /// Somebody stops the turn, and this client, which drops what is pushed, answers all the same: it gets the outcomes,
    /// every time.
    async fn answer_after_stop(&mut self, call: &ToolPart) -> Result<(), Failure> {
        self.client.note("-- stopped elsewhere");
        if !stop_elsewhere(self.world, &self.client.chat).await {
            return Err(self.client.failure("the turn can't be stopped"));
        }
        self.drain().await?;
        let mut sent = self.client.clone();
        self.decide(&mut sent, call);
        for _ in 0..2 {
            let trace = std::mem::take(&mut self.client.trace);
            self.client = sent.clone();
            self.client.trace = trace;
            self.send().await?;
            self.read().await?;
            self.client.judge_outcomes(self.world).await?;
        }
        Ok(())
    }

    /// Answers in a copy of the client: a decision, or an approval with the browser's result.
    fn decide(&mut self, client: &mut Client, call: &ToolPart) -> Answer {
        let answer = self.random.pick(&[Answer::Approve, Answer::Approve, Answer::Deny]);
        client.answer(&call.tool_call_id, answer);
        if answer == Answer::Deny || !is_frontend(&call.name) || self.random.chance(60) {
            return answer;
        }
        let result = self.random.pick(&[Answer::Output, Answer::Output, Answer::Error]);
        client.answer(&call.tool_call_id, result);
        result
    }

    /// Drops, or reads past, what is under way before a request.
    async fn drain(&mut self) -> Result<(), Failure> {
        self.pings += 1;
        self.frame(&json!({"type": "ping", "timestamp": self.pings})).await?;
        loop {
            let payload = self.next().await?;
            if payload.contains("\"pong\"") {
                return Ok(());
            }
            self.client.note(format!("-- drops {}", payload.chars().take(150).collect::<String>()));
        }
    }

    /// Sends a request again, from the state in which it was sent: what followed comes, every time.
    async fn again(&mut self, sent: &Client, script: &Script) -> Result<(), Failure> {
        // An answer that was sent at the same time as another has a response of its own.
        self.drain().await?;
        let mut copy = sent.clone();
        copy.trace.clone_from(&self.client.trace);
        copy.note("-- again");
        let own = std::mem::replace(&mut self.client, copy);
        self.send().await?;
        self.read().await?;
        let copy = std::mem::replace(&mut self.client, own);
        self.client.trace.clone_from(&copy.trace);
        if self.client.has_ended() {
            return copy.judge(self.world, script).await;
        }
        let open = |client: &Client| {
            let open = client.calls(ToolState::ApprovalRequested).into_iter();
            open.map(|call| call.tool_call_id).collect::<Vec<_>>()
        };
        match (open(&copy), open(&self.client)) {
            (again, now) if again == now => Ok(()),
            (again, now) => Err(copy.failure(format!("{again:?} is asked, not {now:?}"))),
        }
    }

    /// Every request gets its response however often it is sent, on this connection and on new ones.
    async fn repeat_all(&mut self, first: &Client, last: &Client, script: &Script) -> Result<(), Failure> {
        let requests = [last, last, first];
        for sent in requests.iter().take(if self.random.chance(50) { 3 } else { 0 }) {
            self.again(sent, script).await?;
        }
        if self.random.chance(50) {
            let query = self.random.pick(&["?id", ""]);
            self.reconnect(query).await;
            for sent in requests {
                self.again(sent, script).await?;
            }
        }
        Ok(())
    }

    async fn reconnect(&mut self, query: &str) {
        self.client.note(format!("-- connects again {query}"));
        let query = if query.is_empty() { String::new() } else { format!("?id={}", self.client.chat) };
        let _ = self.socket.close(None).await;
        self.socket = connect(self.world, &query).await;
    }
}

fn message(client: &Client) -> Value {
    json!({"type": "message", "version": "1.0", "id": client.chat, "messages": client.messages, "trigger": "submit-message"})
}

/// What happened to an approval request before the client's own answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    Nothing,
    /// It was approved, and the browser has to run the call.
    Released,
    /// It was decided, or expired.
    Settled,
}

/// Whether the client's stream closes here.
fn is_rest(chunk: &Value) -> bool {
    *chunk == "[DONE]" || chunk["type"] == "finish-step"
}

/// Whether this browser runs a call now.
fn is_to_run(chunk: &Value) -> bool {
    let name = chunk["toolName"].as_str().unwrap_or_default();
    chunk["type"] == "tool-input-available" && is_frontend(name) && !needs_approval(name)
}
