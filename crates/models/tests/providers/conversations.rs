//! What a model says, and what it is asked, whoever runs it.

use futures::StreamExt;
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::model::{
    Model, ModelEvent, ModelMessage, Usage, UserPart,
    provider::{OpenAiApi, Provider, ProviderModel, ProviderSettings, ReasoningEffort},
};
use holdpoint_runtime::tool::Secret;
use serde_json::{Value, json};

use crate::{
    KEY, ask, check, model, request, said,
    server::{Fake, Reply},
    spec, text,
    wires::{self, Answer, Called, End, Sent, USAGE, Wire},
};

crate::for_all!(
    text_is_streamed,
    reasoning_is_streamed,
    one_call,
    parallel_calls,
    text_and_a_call,
    the_limit_is_told,
    a_filter_is_told,
    settings_are_sent,
    images_and_files_are_sent,
    a_pdf_is_sent_where_it_can_be,
    an_empty_message_is_still_a_message,
    going_away_cancels,
    the_prompt_is_cached_where_that_has_to_be_asked_for,
    options_headers_and_effort_are_sent,
);

fn finish(wire: &dyn Wire, reason: FinishReason, events: &[crate::Event]) {
    let Some(Ok(ModelEvent::Finish { usage, reason: ended, version, .. })) = events.last() else {
        panic!("{events:?}")
    };
    let (cached_prompt_tokens, reasoning_tokens) = wire.parts_of_usage();
    let expected = Usage { prompt_tokens: USAGE.0, completion_tokens: USAGE.1, cached_prompt_tokens, reasoning_tokens };
    assert_eq!(*usage, expected);
    assert_eq!(*ended, reason);
    assert!(version.as_deref().is_some_and(|version| version.contains("test")), "{version:?}");
}

async fn text_is_streamed(wire: &dyn Wire) {
    let answer = Answer { text: vec!["Good ", "mor", "ning, 東京"], ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Hello")]).await;
    check(&events);
    let deltas = answer.text.iter().map(|text| ModelEvent::TextDelta((*text).to_owned()));
    let mut expected = vec![ModelEvent::TextStart];
    expected.extend(deltas);
    expected.push(ModelEvent::TextEnd);
    let (last, before) = events.split_last().expect("events");
    assert!(last.is_ok());
    let before: Vec<ModelEvent> = before.iter().map(|event| event.clone().expect("no error")).collect();
    assert_eq!(before, expected);
    finish(wire, FinishReason::Stop, &events);

    let asked = fake.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].path.starts_with(wire.path()), "{}", asked[0].path);
    assert!(wire.has_key(&asked[0], KEY), "{}", asked[0].head);
    assert_eq!(wire.sent(&asked[0]), [Sent::User { texts: vec!["Hello".into()], images: vec![] }]);
}

async fn reasoning_is_streamed(wire: &dyn Wire) {
    let answer = Answer { reasoning: vec!["Let me ", "think."], text: vec!["42"], ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Why?")]).await;
    check(&events);
    let reasoning: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::ReasoningDelta(text)) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(reasoning.concat(), "Let me think.");
    assert_eq!(text(&events), "42");
    assert_eq!(events[0], Ok(ModelEvent::ReasoningStart));
    finish(wire, FinishReason::Stop, &events);
}

/// The calls of a step: the name that was begun, the input in pieces, and the input as a whole.
fn calls(events: &[crate::Event]) -> Vec<(String, Vec<String>, Result<Value, String>)> {
    check(events);
    let done = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Call { id, name, input }) => Some((id, name, input)),
        _ => None,
    });
    done.map(|(id, name, input)| {
        let begun = events.iter().find_map(|event| match event {
            Ok(ModelEvent::InputStart { id: theirs, name }) if theirs == id => Some(name),
            _ => None,
        });
        assert_eq!(begun, Some(name));
        let deltas = events.iter().filter_map(|event| match event {
            Ok(ModelEvent::InputDelta { id: theirs, delta }) if theirs == id => Some(delta.clone()),
            _ => None,
        });
        (name.clone(), deltas.collect(), input.clone())
    })
    .collect()
}

async fn one_call(wire: &dyn Wire) {
    let pieces = vec!["{\"loca", "tion\":", "\"Tokyo\"}"];
    let answer = Answer { calls: vec![Called { name: "get_weather", pieces }], ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Weather?")]).await;
    let calls = calls(&events);
    let [(name, deltas, input)] = calls.as_slice() else { panic!("{events:?}") };
    assert_eq!((name.as_str(), input), ("get_weather", &Ok(json!({"location": "Tokyo"}))));
    assert_eq!(deltas.concat(), r#"{"location":"Tokyo"}"#);
    assert!(!wire.streams_arguments() || deltas.len() == 3, "{deltas:?}");
    finish(wire, FinishReason::ToolCalls, &events);
}

async fn parallel_calls(wire: &dyn Wire) {
    let weather = Called { name: "get_weather", pieces: vec!["{\"location\":", "\"Oslo\"}"] };
    let twice = Called { name: "get_weather", pieces: vec!["{\"location\":", "\"Rome\"}"] };
    let pay = Called {
        name: "process_payment",
        pieces: vec!["{\"recipient\":\"Ken\",", "\"amount\":5,", "\"currency\":\"USD\"}"],
    };
    let answer = Answer { calls: vec![weather, pay, twice], ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("All of it")]).await;
    let calls = calls(&events);
    let inputs: Vec<(&str, &Result<Value, String>)> =
        calls.iter().map(|(name, _, input)| (name.as_str(), input)).collect();
    let (oslo, rome) = (Ok(json!({"location": "Oslo"})), Ok(json!({"location": "Rome"})));
    let ken = Ok(json!({"recipient": "Ken", "amount": 5, "currency": "USD"}));
    assert_eq!(inputs, [("get_weather", &oslo), ("process_payment", &ken), ("get_weather", &rome)]);
    for (_, deltas, input) in &calls {
        let whole: Value = serde_json::from_str(&deltas.concat()).expect("the pieces are the whole");
        assert_eq!(Ok(&whole), input.as_ref());
    }
    // In the order in which the model wrote it, for whoever has to agree.
    let written = calls[1].2.as_ref().expect("an input").to_string();
    assert!(written.starts_with(r#"{"recipient":"#), "{written}");
    finish(wire, FinishReason::ToolCalls, &events);
}

async fn text_and_a_call(wire: &dyn Wire) {
    let pieces = vec!["{\"location\":\"Oslo\"}"];
    let answer = Answer {
        reasoning: vec!["Hm."],
        text: vec!["Let me see."],
        calls: vec![Called { name: "get_weather", pieces }],
        ..Answer::default()
    };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Weather?")]).await;
    assert_eq!(text(&events), "Let me see.");
    assert_eq!(calls(&events).len(), 1);
    finish(wire, FinishReason::ToolCalls, &events);
}

async fn the_limit_is_told(wire: &dyn Wire) {
    let answer = Answer { text: vec!["It all began"], end: End::Length, ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("A story")]).await;
    check(&events);
    assert_eq!(text(&events), "It all began");
    finish(wire, FinishReason::Length, &events);
}

async fn a_filter_is_told(wire: &dyn Wire) {
    if wire.filtered().is_none() {
        return;
    }
    let answer = Answer { text: vec!["First you"], end: End::Filter, ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("How?")]).await;
    check(&events);
    assert_eq!(text(&events), "First you");
    finish(wire, FinishReason::ContentFilter, &events);
}

async fn settings_are_sent(wire: &dyn Wire) {
    let answer = wire.answer(&Answer { text: vec!["ok"], ..Answer::default() });
    let fake = Fake::start([answer.clone(), answer]).await;
    let system = Some("Be kind.".to_owned());
    let settings =
        ProviderSettings { system, temperature: Some(0.25), max_tokens: Some(77), ..ProviderSettings::default() };
    let set = model(wire, &fake.url, settings);
    assert_eq!(set.name(), wire.model());
    assert!(!format!("{set:?}").contains("Secret"));
    let events: Vec<_> = set.stream(request(vec![said("Hi")])).collect().await;
    check(&events);
    ask(wire, &fake, vec![said("Hi")]).await;

    let asked = fake.asked();
    assert_eq!(wire.sent(&asked[0])[0], Sent::System("Be kind.".into()));
    let sent = wire.settings(&asked[0]);
    assert_eq!((sent.temperature, sent.max_tokens), (Some(0.25), Some(77)));
    let tools = crate::tools();
    let known: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    let names: Vec<&str> = sent.tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, known);
    let weather = sent.tools.iter().find(|(name, _)| name == "get_weather").expect("a tool");
    assert_eq!(weather.1["properties"]["location"]["type"], "string");

    // Nothing that was not asked for; Anthropic wants a limit with every request.
    let bare = wire.settings(&asked[1]);
    assert_eq!(bare.temperature, None);
    let needs_limit = wire.provider() == Provider::Anthropic;
    assert_eq!(bare.max_tokens.is_some(), needs_limit, "{:?}", spec(wire));
    assert!(!wire.sent(&asked[1]).iter().any(|sent| matches!(sent, Sent::System(_))));
}

async fn images_and_files_are_sent(wire: &dyn Wire) {
    // The beginning of a PNG.
    const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";
    let cat = wire.answer(&Answer { text: vec!["A cat"], ..Answer::default() });
    let fake = Fake::start([cat.clone(), cat]).await;
    let file = |media_type: &str, url: &str, name: &str| UserPart::File {
        media_type: media_type.to_owned(),
        url: url.to_owned(),
        filename: Some(name.to_owned()),
    };
    let parts = vec![
        UserPart::Text("What is this?".into()),
        file("image/png", PNG, "cat.png"),
        file("text/csv", "data:text/csv;base64,YSxi", "table.csv"),
        file("application/zip", "data:application/zip;base64,aGk=", "all.zip"),
    ];
    let events = ask(wire, &fake, vec![ModelMessage::User(parts.clone())]).await;
    check(&events);
    // The user is told of the file that the model can't read, in a block of its own, and before the model answers.
    let told = "all.zip (application/zip) was not sent: the model can't read this kind of file.";
    assert_eq!(events[1], Ok(ModelEvent::TextDelta(told.to_owned())));
    assert_eq!(text(&events), format!("{told}A cat"));
    // Once: not when the conversation goes on.
    let answer = ModelMessage::Assistant { text: "A cat".into(), calls: Vec::new(), state: None };
    let events = ask(wire, &fake, vec![ModelMessage::User(parts), answer, said("Sure?")]).await;
    assert_eq!(text(&events), "A cat");
    let sent = wire.sent(&fake.asked()[0]);
    let [Sent::User { texts, images }] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(images, &[PNG]);
    let texts = texts.join("\n");
    for expected in ["What is this?", "table.csv", "a,b", "all.zip"] {
        assert!(texts.contains(expected), "{texts}");
    }
}

async fn a_pdf_is_sent_where_it_can_be(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["A bill"], ..Answer::default() })]).await;
    let url = "data:application/pdf;base64,JVBERi0xLjc=".to_owned();
    let pdf = UserPart::File { media_type: "application/pdf".into(), url, filename: Some("bill.pdf".into()) };
    let events = ask(wire, &fake, vec![ModelMessage::User(vec![UserPart::Text("What is it?".into()), pdf])]).await;
    let can_read = wire.provider() != Provider::Ollama;
    assert_eq!(text(&events) == "A bill", can_read, "{events:?}");
    let body = fake.asked()[0].body.to_string();
    assert_eq!(body.contains("JVBERi0xLjc="), can_read, "{body}");
    assert_eq!(body.contains("not included"), !can_read, "the model is told: {body}");
    assert!(body.contains("bill.pdf"), "it keeps its name: {body}");
}

async fn an_empty_message_is_still_a_message(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["Yes?"], ..Answer::default() })]).await;
    let nothing = ModelMessage::Assistant { text: " ".into(), calls: Vec::new(), state: None };
    let messages = vec![said("Hi"), nothing, ModelMessage::User(vec![UserPart::Text(" ".into())])];
    let events = ask(wire, &fake, messages).await;
    assert_eq!(text(&events), "Yes?");
    let sent = wire.sent(&fake.asked()[0]);
    assert!(sent.iter().all(|sent| matches!(sent, Sent::User { .. })), "{sent:?}");
}

async fn going_away_cancels(wire: &dyn Wire) {
    let answer = wire.answer(&Answer { text: vec!["Once"], end: End::Cut, ..Answer::default() });
    let Reply::Stream { content_type, pieces, .. } = answer else { panic!("a stream") };
    let fake = Fake::start([Reply::Endless { content_type, pieces }]).await;
    let model = model(wire, &fake.url, ProviderSettings::default());
    let mut stream = model.stream(request(vec![said("A novel")]));
    // What is there is shown before the rest comes.
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextStart)));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("Once".into()))));
    drop(stream);
    fake.left().await;
}

async fn options_headers_and_effort_are_sent(wire: &dyn Wire) {
    let fine = wire.answer(&Answer { text: vec!["ok"], ..Answer::default() });
    let wrong = wire.wrong_key("the-header-is-secret");
    let fake = Fake::start([fine, wrong]).await;
    let settings = ProviderSettings {
        reasoning_effort: Some(ReasoningEffort::High),
        options: serde_json::Map::from_iter([("x_own".to_owned(), json!({"a": [1]}))]),
        headers: vec![
            ("x-team".to_owned(), Secret::new("red")),
            ("x-token".to_owned(), Secret::new("Bearer the-header-is-secret")),
        ],
        ..ProviderSettings::default()
    };
    let set = model(wire, &fake.url, settings);
    let events: Vec<_> = set.stream(request(vec![said("Hi")])).collect().await;
    assert_eq!(text(&events), "ok", "{events:?}");
    let asked = &fake.asked()[0];
    let head = asked.head.to_lowercase();
    assert!(head.contains("x-team: red\r\n") && head.contains("x-token: bearer the-header-is-secret\r\n"), "{head}");
    assert!(asked.body.to_string().contains(r#""x_own":{"a":[1]}"#), "{}", asked.body);
    assert_eq!(wire.effort(asked), "high", "{}", asked.body);
    // A header may be a key, and providers repeat keys.
    let events: Vec<_> = set.stream(request(vec![said("Hi")])).collect().await;
    let error = crate::failure(&events);
    assert!(!error.detail.contains("is-secret") && error.detail.contains("•••"), "{}", error.detail);
}

/// What can't be is said at the start.
#[test]
fn settings_that_do_not_fit_are_refused_at_the_start() {
    for wire in wires::ALL {
        let with = |settings: ProviderSettings| {
            let key = |name: &str| (name == wire.provider().key_variable()).then(|| KEY.to_owned());
            ProviderModel::with_client(spec(wire), settings, key, crate::client()).map(drop)
        };
        let api = with(ProviderSettings { api: Some(OpenAiApi::Responses), ..ProviderSettings::default() });
        assert_eq!(api.is_ok(), wire.provider() == Provider::OpenAi);
        for (name, value) in [("x y", "a"), ("", "a"), ("x", "a\nb: c")] {
            let headers = vec![(name.to_owned(), Secret::new(value))];
            let error = with(ProviderSettings { headers, ..ProviderSettings::default() }).expect_err("no header");
            assert!(error.to_string().contains("model.headers"), "{error}");
        }
    }
}

/// OpenAI, Gemini and DeepSeek cache by themselves; Anthropic caches what is marked.
/// <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>: at most four marks.
async fn the_prompt_is_cached_where_that_has_to_be_asked_for(wire: &dyn Wire) {
    let fine = wire.answer(&Answer { text: vec!["ok"], ..Answer::default() });
    let fake = Fake::start([fine.clone(), fine]).await;
    let system = Some("Be kind.".to_owned());
    for prompt_caching in [None, Some(false)] {
        let settings = ProviderSettings { system: system.clone(), prompt_caching, ..ProviderSettings::default() };
        let events: Vec<_> =
            model(wire, &fake.url, settings).stream(request(vec![said("Hi"), said("Ho")])).collect().await;
        assert_eq!(text(&events), "ok", "{events:?}");
    }
    let marks = |at: usize| fake.asked()[at].body.to_string().matches(r#""cache_control""#).count();
    let is_marked = wire.provider() == Provider::Anthropic;
    assert_eq!(marks(0) > 0, is_marked, "{}", fake.asked()[0].body);
    assert!(marks(0) <= 4 && marks(1) == 0, "{}", fake.asked()[1].body);
}
