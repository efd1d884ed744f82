//! Everything that can go wrong with a provider: what is tried again, what people are told, and that no key is in it.

use std::time::Duration;

use futures::{StreamExt, future::join_all};
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::model::{
    Model, ModelEvent,
    provider::{Provider, ProviderModel, ProviderSettings, Timeouts},
};
use tokio::time::Instant;

use crate::{
    KEY, ask, check, client, failure, model, said,
    server::{Fake, Reply},
    spec, text,
    wires::{self, Answer, Called, End, Wire},
};

crate::for_all!(
    too_many_requests_are_tried_again_when_the_provider_wants,
    another_model_is_asked_before_the_first_word,
    a_fault_is_tried_again_and_then_told,
    a_long_pause_is_not_waited_for,
    a_connection_that_breaks_at_once_is_tried_again,
    an_empty_account_is_not_tried_again,
    an_answer_that_is_cut_off,
    an_error_in_the_middle,
    malformed_arguments,
    arguments_that_are_cut_off_by_the_limit,
    an_empty_answer,
    the_limit_before_any_answer,
    a_filter_before_any_answer,
    calls_of_a_filtered_answer_are_not_run,
    a_wrong_key,
    an_unknown_model,
    a_conversation_that_is_too_long,
    a_request_that_is_not_accepted,
    something_else_answers_there,
    nobody_is_there,
    nothing_comes,
    a_missing_key_is_named,
);

fn fine(wire: &dyn Wire) -> Reply {
    wire.answer(&Answer { text: vec!["Here I am."], ..Answer::default() })
}

fn busy() -> Reply {
    Reply::error(429, format!(r#"{{"error": {{"message": "slow down, {KEY}"}}}}"#))
}

async fn too_many_requests_are_tried_again_when_the_provider_wants(wire: &dyn Wire) {
    let fake = Fake::start([busy().with("retry-after", "7"), busy().with("retry-after", "20"), fine(wire)]).await;
    let begun = Instant::now();
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    check(&events);
    assert_eq!(text(&events), "Here I am.");
    assert_eq!(fake.asked().len(), 3);
    assert_eq!(fake.asked()[0].body, fake.asked()[2].body);
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(27) && waited < Duration::from_secs(29), "{waited:?}");
    // Whoever waits is told.
    let told: Vec<(&str, u64)> = events
        .iter()
        .filter_map(|event| match event {
            Ok(ModelEvent::Retry { message, delay }) => Some((message.as_str(), delay.as_secs())),
            _ => None,
        })
        .collect();
    let name = if wire.provider() == Provider::Ollama { "Ollama" } else { "The model's server" };
    let expected = |seconds: u64| format!("{name} is getting too many requests. Trying again in {seconds} seconds.");
    assert_eq!(told, [(expected(7).as_str(), 7), (expected(20).as_str(), 20)]);
}

/// The next model is asked if one can't answer, and not once something was shown.
async fn another_model_is_asked_before_the_first_word(wire: &dyn Wire) {
    let broken = Fake::start((0..4).map(|_| Reply::error(503, "{}"))).await;
    let wrong_key = Fake::start([wire.wrong_key(KEY)]).await;
    let fallback = Fake::start([fine(wire)]).await;
    let of = |fake: &Fake| model(wire, &fake.url, ProviderSettings::default());
    let all = of(&broken).with_fallbacks([of(&wrong_key), of(&fallback)]);
    let events: Vec<_> = all.stream(crate::request(vec![said("Hi")])).collect().await;
    check(&events);
    assert_eq!(text(&events), "Here I am.");
    assert_eq!((broken.asked().len(), wrong_key.asked().len(), fallback.asked().len()), (4, 1, 1));
    let told = |event: &crate::Event| matches!(event, Ok(ModelEvent::Retry { message, .. }) if message.contains("another model"));
    assert_eq!(events.iter().filter(|event| told(event)).count(), 2, "{events:?}");

    // All fail: the last one says why.
    let (one, two) = (Fake::start([wire.wrong_key(KEY)]).await, Fake::start([wire.too_long()]).await);
    let events: Vec<_> = of(&one).with_fallbacks([of(&two)]).stream(crate::request(vec![said("Hi")])).collect().await;
    assert!(failure(&events).message.contains("too long"), "{events:?}");

    let half = wire.answer(&Answer { text: vec!["It all "], end: End::Cut, ..Answer::default() });
    let (cut, other) = (Fake::start([half]).await, Fake::start([fine(wire)]).await);
    let events: Vec<_> = of(&cut).with_fallbacks([of(&other)]).stream(crate::request(vec![said("Hi")])).collect().await;
    assert!(failure(&events).message.contains("cut off"), "{events:?}");
    assert_eq!(other.asked().len(), 0);

    let Some(filtered) = wire.filtered() else { return };
    let (filter, other) = (Fake::start([filtered]).await, Fake::start([fine(wire)]).await);
    let events: Vec<_> =
        of(&filter).with_fallbacks([of(&other)]).stream(crate::request(vec![said("Hi")])).collect().await;
    assert!(failure(&events).message.contains("filter"), "{events:?}");
    assert_eq!(other.asked().len(), 0, "what a filter has stopped is not tried elsewhere");
}

async fn a_fault_is_tried_again_and_then_told(wire: &dyn Wire) {
    for status in [429, 500, 503, 529] {
        let fault = Reply::error(status, r#"{"error": {"message": "stack trace: x.rs:1"}}"#);
        let fake = Fake::start([fault.clone(), fault.clone(), fault.clone(), fault.clone(), fine(wire)]).await;
        let begun = Instant::now();
        let events = ask(wire, &fake, vec![said("Hi")]).await;
        let error = failure(&events);
        let shown = events.iter().filter(|event| !matches!(event, Ok(ModelEvent::Retry { .. }))).count();
        assert_eq!((shown, fake.asked().len()), (1, 4), "four tries, and nothing but the error");
        let waited = begun.elapsed();
        // Half a second, one, two; each a quarter more or less.
        assert!(waited >= Duration::from_millis(2600) && waited < Duration::from_millis(4500), "{waited:?}");
        assert!(error.message.contains("try again") && !error.message.contains("x.rs"), "{}", error.message);
        assert!(error.detail.contains("x.rs:1") && error.detail.contains(&status.to_string()), "{}", error.detail);
    }
}

async fn a_long_pause_is_not_waited_for(wire: &dyn Wire) {
    let fake = Fake::start([busy().with("retry-after", "600"), fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains("10 minutes"), "{}", error.message);
    // For people who read the log, and not in the words of the code.
    assert!(error.detail.contains("too many requests, to be asked again after 600 s"), "{}", error.detail);
    assert_eq!(fake.asked().len(), 1);
    let fake = Fake::start([busy().with("retry-after", "2301283680")]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    assert!(failure(&events).message.ends_with("Please try again later."), "{events:?}");
}

async fn a_connection_that_breaks_at_once_is_tried_again(wire: &dyn Wire) {
    let nothing = wire.answer(&Answer { end: End::Cut, ..Answer::default() });
    let fake = Fake::start([Reply::Silence, nothing, fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    check(&events);
    assert_eq!((text(&events).as_str(), fake.asked().len()), ("Here I am.", 3));
}

async fn an_empty_account_is_not_tried_again(wire: &dyn Wire) {
    let body = r#"{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}"#;
    let fake = Fake::start([Reply::error(429, body), fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    assert!(failure(&events).message.contains("billing"), "{events:?}");
    assert_eq!(fake.asked().len(), 1);
}

async fn an_answer_that_is_cut_off(wire: &dyn Wire) {
    let cut = wire.answer(&Answer { text: vec!["It all ", "began"], end: End::Cut, ..Answer::default() });
    let fake = Fake::start([cut, fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("A story")]).await;
    let error = failure(&events);
    assert!(error.message.contains("cut off") && error.message.contains("try again"), "{}", error.message);
    assert_eq!(text(&events), "It all began");
    assert_eq!(fake.asked().len(), 1, "what somebody has seen is not begun anew");

    // A stream that ends without an error, but too early, is not an answer either.
    let Reply::Stream { content_type, pieces, .. } =
        wire.answer(&Answer { text: vec!["It all"], end: End::Cut, ..Answer::default() })
    else {
        panic!("a stream")
    };
    let fake = Fake::start([Reply::Stream { content_type, pieces, is_cut: false }]).await;
    let events = ask(wire, &fake, vec![said("A story")]).await;
    assert!(failure(&events).message.contains("cut off"), "{events:?}");
}

async fn an_error_in_the_middle(wire: &dyn Wire) {
    let fake = Fake::start([wire.broken(), fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains("try again"), "{}", error.message);
    assert_eq!((text(&events).as_str(), fake.asked().len()), ("Half", 1));
}

async fn malformed_arguments(wire: &dyn Wire) {
    let fake = Fake::start([wire.malformed()]).await;
    let events = ask(wire, &fake, vec![said("Weather?")]).await;
    check(&events);
    let call = events.iter().find_map(|event| match event {
        Ok(ModelEvent::Call { name, input, .. }) => Some((name.as_str(), input)),
        _ => None,
    });
    let Some(("get_weather", Err(written))) = call else { panic!("{events:?}") };
    assert!(written.contains("Tokyo"), "{written}");
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Finish { .. }))), "the step goes on: {events:?}");
}

async fn arguments_that_are_cut_off_by_the_limit(wire: &dyn Wire) {
    if !wire.streams_arguments() {
        return;
    }
    let call = Called { name: "process_payment", pieces: vec!["{\"amount\": 5, \"recipient\": \"K"] };
    let answer = Answer { calls: vec![call], end: End::Length, ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Pay")]).await;
    check(&events);
    // Never as a call: it is not finished.
    let is_called = events.iter().any(|event| matches!(event, Ok(ModelEvent::Call { .. })));
    assert!(!is_called, "{events:?}");
    let finish = events.last();
    assert!(matches!(finish, Some(Ok(ModelEvent::Finish { reason: FinishReason::Length, .. }))), "{events:?}");
}

async fn an_empty_answer(wire: &dyn Wire) {
    for reasoning in [vec![], vec!["Hm."]] {
        let fake = Fake::start([wire.answer(&Answer { reasoning, ..Answer::default() })]).await;
        let events = ask(wire, &fake, vec![said("Hi")]).await;
        let error = failure(&events);
        assert!(error.message.contains("empty") && error.message.contains("try again"), "{}", error.message);
        assert_eq!(fake.asked().len(), 1);
    }
}

async fn the_limit_before_any_answer(wire: &dyn Wire) {
    let answer = Answer { reasoning: vec!["Hm."], end: End::Length, ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    assert!(failure(&events).message.contains("max_tokens"), "{events:?}");
}

async fn a_filter_before_any_answer(wire: &dyn Wire) {
    let Some(filtered) = wire.filtered() else { return };
    let fake = Fake::start([filtered]).await;
    let events = ask(wire, &fake, vec![said("How?")]).await;
    let error = failure(&events);
    assert!(error.message.starts_with("The content filter of the model's server stopped"), "{}", error.message);
    assert!(error.message.contains("another way") && !error.detail.contains("Some("), "{error:?}");
    assert_eq!((events.len(), fake.asked().len()), (1, 1));
}

async fn calls_of_a_filtered_answer_are_not_run(wire: &dyn Wire) {
    if wire.filtered().is_none() {
        return;
    }
    let call = Called { name: "get_weather", pieces: vec!["{\"location\":\"Oslo\"}"] };
    let answer = Answer { calls: vec![call], end: End::Filter, ..Answer::default() };
    let fake = Fake::start([wire.answer(&answer)]).await;
    let events = ask(wire, &fake, vec![said("How?")]).await;
    assert!(failure(&events).message.contains("filter"), "{events:?}");
}

async fn a_wrong_key(wire: &dyn Wire) {
    let fake = Fake::start([wire.wrong_key(KEY), fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains(wire.provider().key_variable()), "{}", error.message);
    // A custom base URL is not OpenAI, and its host name is not shown.
    let name = if wire.provider() == Provider::Ollama { "Ollama did not" } else { "The model's server did not" };
    assert!(error.message.starts_with(name), "{}", error.message);
    assert!(error.detail.contains("•••"), "the log says what the provider said: {}", error.detail);
    assert_eq!(fake.asked().len(), 1);
}

async fn an_unknown_model(wire: &dyn Wire) {
    let fake = Fake::start([wire.unknown_model(), fine(wire)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains(wire.model()) && error.message.contains("model"), "{}", error.message);
    assert_eq!(wire.provider() == Provider::Ollama, error.message.contains("ollama pull"), "{}", error.message);
    assert_eq!(fake.asked().len(), 1);
}

async fn a_conversation_that_is_too_long(wire: &dyn Wire) {
    let fake = Fake::start([wire.too_long()]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    assert!(failure(&events).message.contains("too long"), "{events:?}");
}

async fn a_request_that_is_not_accepted(wire: &dyn Wire) {
    let fake = Fake::start([Reply::error(400, r#"{"error": {"message": "tools.0: bad schema"}}"#)]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains("log") && !error.message.contains("schema"), "{}", error.message);
    assert!(error.detail.contains("tools.0: bad schema"), "{}", error.detail);
}

async fn something_else_answers_there(wire: &dyn Wire) {
    let page = Reply::Stream { content_type: "text/html", pieces: vec!["<h1>Welcome</h1>\n".into()], is_cut: false };
    let fake = Fake::start([page.clone(), page.clone(), page.clone(), page]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    assert!(!failure(&events).message.contains('<'), "{events:?}");
    assert_eq!(events.len(), 1);
}

async fn nobody_is_there(wire: &dyn Wire) {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let model = model(wire, &url, ProviderSettings::default());
    let begun = Instant::now();
    let events: Vec<_> = model.stream(crate::request(vec![said("Hi")])).collect().await;
    let error = failure(&events);
    assert!(error.message.contains("address") || error.message.contains("OLLAMA_HOST"), "{}", error.message);
    assert!(error.detail.to_lowercase().contains("refused"), "{}", error.detail);
    assert_eq!(begun.elapsed(), Duration::ZERO, "at once: it would not help to wait");
}

async fn nothing_comes(wire: &dyn Wire) {
    let fake = Fake::start([Reply::Endless { content_type: "text/event-stream", pieces: vec![] }]).await;
    let begun = Instant::now();
    let events = timed(wire, &fake, Timeouts::default()).await;
    assert!(failure(&events).message.contains("did not answer in time"), "{events:?}");
    assert_eq!(begun.elapsed().as_secs(), 120, "once, and not again and again");
}

/// What comes of a step with these time limits.
async fn timed(wire: &dyn Wire, fake: &Fake, timeouts: Timeouts) -> Vec<crate::Event> {
    let settings = ProviderSettings {
        base_url: Some(wire.base(&fake.url)),
        timeouts,
        api: wire.api(),
        ..ProviderSettings::default()
    };
    let model = ProviderModel::with_client(spec(wire), settings, |_| Some(KEY.to_owned()), client()).expect("a model");
    model.stream(crate::request(vec![said("Hi")])).collect().await
}

/// In real time: with a stopped clock, every limit is over while the connection is being made. The limit is long enough for an
/// answer on a busy machine, and all providers are waited for at once.
#[tokio::test]
async fn an_answer_has_time_limits() {
    let limit = Some(Duration::from_secs(5));
    let checked = wires::ALL.map(async |wire| {
        let half = wire.answer(&Answer { text: vec!["It all ", "began"], end: End::Cut, ..Answer::default() });
        let Reply::Stream { content_type, pieces, .. } = half else { panic!("a stream") };
        let endless = Reply::Endless { content_type, pieces };
        let limited = [
            (Timeouts { idle: limit, ..Timeouts::default() }, "did not go on in time"),
            (Timeouts { whole: limit, ..Timeouts::default() }, "model.timeout_sec"),
        ];
        let cut_off = limited.map(async |(timeouts, says)| {
            let fake = Fake::start([endless.clone()]).await;
            let events = timed(wire, &fake, timeouts).await;
            assert_eq!((text(&events).as_str(), fake.asked().len()), ("It all began", 1));
            assert!(failure(&events).message.contains(says), "{events:?}");
        });
        let silent = async {
            let fake = Fake::start([Reply::Endless { content_type, pieces: vec![] }]).await;
            let events = timed(wire, &fake, Timeouts { first_byte: limit, ..Timeouts::default() }).await;
            assert!(failure(&events).message.contains("did not answer in time"), "{events:?}");
            assert_eq!(fake.asked().len(), 1, "it would take as long again");
        };
        tokio::join!(join_all(cut_off), silent);
    });
    join_all(checked).await;
}

#[test]
fn a_temperature_that_the_provider_would_refuse_is_refused_at_the_start() {
    // https://platform.claude.com/docs/en/api/messages/create: "Ranges from 0.0 to 1.0".
    for wire in wires::ALL {
        let of = |temperature| {
            let settings = ProviderSettings { temperature: Some(temperature), ..ProviderSettings::default() };
            let key = |name: &str| (name == wire.provider().key_variable()).then(|| KEY.to_owned());
            ProviderModel::with_client(spec(wire), settings, key, client()).map(drop)
        };
        assert!(of(1.0).is_ok() && of(0.0).is_ok());
        assert_eq!(of(1.5).is_ok(), wire.provider() != Provider::Anthropic);
        let error = of(9.5).expect_err("too hot").to_string();
        assert!(error.contains("9.5") && error.contains(wire.provider().name()), "{error}");
    }
}

async fn a_missing_key_is_named(wire: &dyn Wire) {
    let model = ProviderModel::with_client(spec(wire), ProviderSettings::default(), |_| None, client());
    match (wire.provider(), model) {
        (Provider::Ollama, model) => assert!(model.is_ok()),
        (provider, model) => {
            let error = model.expect_err("no key").to_string();
            assert!(error.contains(provider.key_variable()), "{error}");
        }
    }
}
