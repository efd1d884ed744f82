//! `get_weather`: fictional weather, always the same for a place.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recent::Recent;
use holdpoint_runtime::tool::{Tool, ToolBuilder, ToolContext};

/// How many places are remembered.
const MAX_PLACES: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// The name of a place, such as Tokyo.
    #[schemars(length(max = 200), regex(pattern = r"\S"))]
    location: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Weather {
    /// Degrees Celsius.
    temperature: f64,
    condition: &'static str,
    description: &'static str,
    /// Percent.
    humidity: u64,
    feels_like: f64,
    /// Kilometres an hour.
    wind_speed: f64,
    cached: bool,
}

/// Conditions and their descriptions.
const CONDITIONS: [(&str, &str); 6] = [
    ("sunny", "a clear sky all day"),
    ("cloudy", "clouds that hide the sun"),
    ("rainy", "rain on and off"),
    ("windy", "gusts from the sea"),
    ("foggy", "fog that lifts by noon"),
    ("stormy", "thunder towards the evening"),
];
const SNOW: (&str, &str) = ("snowy", "snow that stays");

pub(super) fn get_weather() -> ToolBuilder {
    let asked = Mutex::new(Recent::new(MAX_PLACES));
    Tool::server("get_weather", "Tells the current weather of a place.", {
        move |place: Place, _: ToolContext| {
            let name = place.location.trim().to_lowercase();
            let mut weather = make_up(&name);
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            weather.cached = std::mem::replace(asked.entry(name, || false), true);
            async move { Ok(weather) }
        }
    })
    .title("Weather")
    .idempotent()
}

fn make_up(name: &str) -> Weather {
    let mut dice = Dice::of(name);
    let temperature = dice.up_to(410) as f64 / 10.0 - 6.0;
    let rolled = CONDITIONS[dice.up_to(CONDITIONS.len() as u64) as usize];
    let (condition, description) = if temperature < 1.0 && rolled.0 == "rainy" { SNOW } else { rolled };
    let wind = dice.up_to(300) as f64 / 10.0 + if condition == "windy" { 30.0 } else { 0.0 };
    Weather {
        temperature,
        condition,
        description,
        humidity: 30 + dice.up_to(66),
        feels_like: ((temperature - wind / 15.0) * 10.0).round() / 10.0,
        wind_speed: wind,
        cached: false,
    }
}

/// Numbers that depend only on a name, on every machine and in every version: FNV-1a, then a step of xorshift for each.
struct Dice(u64);

impl Dice {
    fn of(name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self(hash | 1)
    }

    fn up_to(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tests::Calls, *};

    #[tokio::test]
    async fn a_place_has_its_weather_and_the_second_answer_is_cached() {
        let chat = Calls::of(get_weather());
        let first = chat.call(json!({"location": "Tokyo"})).await.unwrap();
        let keys: Vec<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(" "), "temperature condition description humidity feels_like wind_speed cached");
        assert_eq!(first["cached"], false);
        let mut second = chat.in_chat("other").call(json!({"location": " tokyo "})).await.unwrap();
        assert_eq!(second["cached"].take(), true);
        second["cached"] = json!(false);
        assert_eq!(first, second);
        assert_ne!(chat.call(json!({"location": "東京"})).await.unwrap(), first);
    }

    #[test]
    fn the_weather_is_plausible() {
        for number in 0..1000 {
            let weather = make_up(&format!("place {number}"));
            assert!((-6.0..=35.0).contains(&weather.temperature), "{weather:?}");
            assert!((30..=95).contains(&weather.humidity) && (0.0..60.0).contains(&weather.wind_speed), "{weather:?}");
            assert!(weather.condition != "rainy" || weather.temperature >= 1.0, "{weather:?}");
        }
    }

    #[tokio::test]
    async fn a_place_needs_a_name() {
        let chat = Calls::of(get_weather());
        for input in [json!({}), json!({"location": " "}), json!({"location": 5})] {
            assert!(chat.call(input).await.unwrap_err().0.starts_with("location: "));
        }
    }
}
