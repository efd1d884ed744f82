//! A client of `POST /stream`.

use holdpoint_protocol::{
    check::{Checker, Options, Profile},
    message::{ToolPart, ToolState},
};
use serde_json::{Value, json};

use super::{
    Failure, STOPPED, WAIT, World, chat_id,
    client::{Answer, Client, Sends, call_of, decide_elsewhere, stop_elsewhere},
    random::Random,
    script::{APPROVAL, BROWSER, Script, is_frontend, needs_approval},
    support::Sse,
};

struct Tab<'a> {
    world: &'a World,
    client: Client,
    /// The transcript so far, which the checker has read.
    transcript: Vec<String>,
    checker: Checker,
    is_resubmit: bool,
    random: Random,
    /// Approved calls that this browser runs while the response is open.
    runs: Vec<String>,
}

pub(crate) async fn play(world: &World, seed: u64) -> Result<(), Failure> {
    let mut random = Random::new(seed);
    let script = Script::random(&mut random);
    let kinds: &[Sends] = match script.is_of_approvals() {
        true => &[Sends::AtOnce, Sends::ByTiming, Sends::ByOrder, Sends::Ours],
        false => &[Sends::AtOnce, Sends::ByOrder, Sends::Ours],
    };
    let client = Client::new(chat_id("sse", seed).as_str(), random.pick(kinds), false);
    let is_resubmit = random.chance(40);
    let is_one_by_one = random.chance(40);
    let (transcript, checker) = (Vec::new(), checker());
    let mut tab = Tab { world, client, transcript, checker, is_resubmit, random, runs: Vec::new() };
    let mut stops = Random::aside(seed);
    tab.client.say(&script);
    tab.client.note(format!("-- resubmit {is_resubmit}, one by one {is_one_by_one}"));
    tab.send().await?;
    for _ in 0..40 {
        if tab.client.has_ended() {
            tab.checker.finish();
            tab.check()?;
            return tab.client.judge(world, &script).await;
        }
        if stops.chance(STOPPED) {
            return tab.answer_after_stop().await;
        }
        let before = tab.client.clone();
        tab.act(is_one_by_one).await?;
        if tab.client.sends == Sends::Ours || !tab.client.is_sending(true) {
            // A client by our rule sends an approval together with the browser's result.
            tab.run_approved();
        }
        if tab.client.is_sending(true) {
            let sent = tab.client.clone();
            tab.send().await?;
            if tab.random.chance(20) {
                tab.send_twice(sent, &script).await?;
            }
        } else if before.messages == tab.client.messages {
            return Err(tab.client.failure("the client waits for nothing that could come"));
        }
    }
    Err(tab.client.failure("the turn does not end"))
}

impl Tab<'_> {
    /// Answers what is open: all of it, or some.
    async fn act(&mut self, is_one_by_one: bool) -> Result<(), Failure> {
        let mut open = self.client.calls(ToolState::ApprovalRequested);
        let is_frontend = |tool: &ToolPart| is_frontend(&tool.name);
        open.extend(self.client.calls(ToolState::InputAvailable).into_iter().filter(is_frontend));
        if is_one_by_one && !open.is_empty() {
            let at = self.random.index(open.len());
            open = vec![open.swap_remove(at)];
        }
        for call in open {
            if call.state == ToolState::ApprovalRequested {
                self.decide(&call).await;
            } else {
                if self.random.chance(15) {
                    self.client.note("-- the browser takes too long");
                    self.world.server.clock.advance(BROWSER);
                }
                let result = self.random.pick(&[Answer::Output, Answer::Output, Answer::Error]);
                self.client.answer(&call.tool_call_id, result);
            }
        }
        Ok(())
    }

    /// Somebody stops the turn, and this client answers all the same: it gets the outcomes, every time.
    async fn answer_after_stop(&mut self) -> Result<(), Failure> {
        self.client.note("-- stopped elsewhere");
        if !stop_elsewhere(self.world, &self.client.chat).await {
            return Err(self.client.failure("the turn can't be stopped"));
        }
        for call in self.client.calls(ToolState::ApprovalRequested) {
            let answer = self.random.pick(&[Answer::Approve, Answer::Deny]);
            self.client.answer(&call.tool_call_id, answer);
        }
        let waits = self.client.calls(ToolState::InputAvailable).into_iter();
        for call in waits.filter(|call| is_frontend(&call.name)) {
            self.client.answer(&call.tool_call_id, Answer::Output);
        }
        let sent = self.client.clone();
        self.send().await?;
        self.client.judge_outcomes(self.world).await?;
        let sent_at = self.transcript.iter().rposition(|line| line.starts_with("{\"request\"")).unwrap_or_default();
        let before = self.transcript[..sent_at].to_vec();
        (self.client, self.checker) = (sent, checker());
        before.iter().for_each(|line| self.checker.feed(line.as_bytes()));
        self.client.note("-- twice");
        self.send().await?;
        self.client.judge_outcomes(self.world).await.map(drop)
    }

    async fn decide(&mut self, call: &ToolPart) {
        let mut is_released = false;
        match self.random.index(10) {
            0 | 1 => {
                let approved = self.random.chance(60);
                self.client.note(format!("-- the inbox: {approved} {}", call.tool_call_id));
                is_released = decide_elsewhere(self.world, call, approved).await && approved;
            }
            2 => {
                self.client.note("-- nobody decides in time");
                self.world.server.clock.advance(APPROVAL);
            }
            _ => {}
        }
        let answer = self.random.pick(&[Answer::Approve, Answer::Approve, Answer::Deny]);
        self.client.answer(&call.tool_call_id, answer);
        if (answer == Answer::Approve || is_released) && is_frontend(&call.name) {
            if answer == Answer::Approve && self.random.chance(40) {
                let result = self.random.pick(&[Answer::Output, Answer::Output, Answer::Error]);
                self.client.answer(&call.tool_call_id, result);
            } else if !self.is_resubmit {
                self.runs.push(call.tool_call_id.to_string());
            }
        }
    }

    fn run_approved(&mut self) {
        for call in self.client.approved_frontend_calls() {
            self.runs.retain(|run| *run != call.tool_call_id.as_str());
            let result = self.random.pick(&[Answer::Output, Answer::Output, Answer::Error]);
            self.client.answer(&call.tool_call_id, result);
        }
    }

    /// Sends the messages and reads the whole response.
    async fn send(&mut self) -> Result<(), Failure> {
        let body = json!({"id": self.client.chat, "messages": self.client.messages, "trigger": "submit-message"});
        self.client.note("-- sends");
        self.client.begin();
        self.line(json!({"request": {"method": "POST", "url": "/stream", "body": body}}));
        let mut request = self.world.http.post(self.world.server.url("/stream")).json(&body);
        if self.is_resubmit {
            request = request.header("x-holdpoint-wait", "resubmit");
        }
        let response = request.send().await.map_err(|error| self.client.failure(error.to_string()))?;
        let status = response.status().as_u16();
        self.line(json!({"status": status}));
        if status != 200 {
            let text = response.text().await.unwrap_or_default();
            return Err(self.client.failure(format!("{status}: {text}")));
        }
        for call in std::mem::take(&mut self.runs) {
            self.run(&call).await;
        }
        let mut sse = Sse::new(response);
        loop {
            let next = tokio::time::timeout(WAIT, sse.next()).await;
            let Ok(next) = next else { return Err(self.client.failure("the response does not end")) };
            let Some(payload) = next else { break };
            self.line(json!({"frame": format!("data: {payload}\n\n")}));
            let chunk = self.client.take(&payload)?;
            let name = chunk["toolName"].as_str().unwrap_or_default();
            let is_run = chunk["type"] == "tool-input-available" && is_frontend(name) && !needs_approval(name);
            if is_run && !self.is_resubmit {
                self.run(&call_of(&chunk)).await;
            }
        }
        self.check()?;
        self.client.check_rest()
    }

    /// Runs a call in the browser, while the response is open.
    async fn run(&mut self, call: &str) {
        match self.random.index(6) {
            0 => {
                self.client.note(format!("-- {call} takes too long"));
                self.world.server.clock.advance(BROWSER);
            }
            1 => self.ack(call, "failed").await,
            2 => {
                self.ack(call, "success").await;
                self.ack(call, "success").await;
            }
            _ => self.ack(call, "success").await,
        }
    }

    async fn ack(&mut self, call: &str, status: &str) {
        let answer = self.world.ack(call, status).await;
        self.client.note(format!("-- acks {call}: {} {}", answer.0, answer.1));
    }

    /// Another tab with the same answers sends them too, and gets what followed.
    async fn send_twice(&mut self, sent: Client, script: &Script) -> Result<(), Failure> {
        let sent_at = self.transcript.iter().rposition(|line| line.starts_with("{\"request\"")).unwrap_or_default();
        let mut tab = Tab {
            world: self.world,
            client: sent,
            transcript: Vec::new(),
            checker: checker(),
            is_resubmit: self.is_resubmit,
            random: self.random.clone(),
            runs: Vec::new(),
        };
        self.transcript[..sent_at].iter().for_each(|line| tab.checker.feed(line.as_bytes()));
        tab.client.note("-- twice");
        tab.send().await?;
        if self.client.has_ended() {
            return tab.client.judge(self.world, script).await;
        }
        match tab.client.outcomes.iter().find(|(_, told)| **told > 1) {
            Some((id, told)) => Err(tab.client.failure(format!("{told} outcomes of {id}"))),
            None => Ok(()),
        }
    }

    fn line(&mut self, line: Value) {
        let line = format!("{line}\n");
        self.checker.feed(line.as_bytes());
        self.transcript.push(line);
    }

    fn check(&mut self) -> Result<(), Failure> {
        match &self.checker.take_violations()[..] {
            [] => Ok(()),
            [first, ..] => Err(self.client.failure(format!("{} {}", first.rule, first.text))),
        }
    }
}

fn checker() -> Checker {
    Checker::new(Options { profile: Profile::AdkSse, progressive_text: false })
}
