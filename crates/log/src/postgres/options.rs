//! The settings of a log, and its URL.

use std::{fmt, path::PathBuf, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use super::error::PostgresError;
use holdpoint_core::redact::Secret;

/// How to open a [`PostgresLog`](super::PostgresLog).
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=…`. Several hosts may be named, separated by commas: the
    /// first that takes writes is used.
    pub url: String,
    /// The schema of the tables, created if missing. `None`: the first one in the connection's `search_path`.
    pub schema: Option<String>,
    /// The time within which the turns of a node that dies are taken over. Its lease is a little shorter.
    pub lease: Duration,
    /// Whether to do without LISTEN, NOTIFY, prepared statements and settings of the session, which connection poolers
    /// do not pass on. Other nodes then learn of changes by polling only.
    pub poll_only: bool,
    /// The number of connections that read.
    pub readers: usize,
    /// The time limit of a connection attempt.
    pub connect_timeout: Duration,
    /// The time limit of a read or a transaction, after which its connection is given up.
    pub request_timeout: Duration,
}

impl PostgresOptions {
    /// The defaults for a URL that is kept secret.
    pub fn of(url: &Secret) -> Self {
        Self::new(url.reveal())
    }

    /// The defaults for a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: None,
            lease: Duration::from_secs(5),
            poll_only: false,
            readers: 4,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(5),
        }
    }
}

impl fmt::Debug for PostgresOptions {
    /// Omits the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("lease", &self.lease)
            .field("poll_only", &self.poll_only)
            .finish_non_exhaustive()
    }
}

/// The parameters that the client library knows.
const PARAMETERS: [&str; 17] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// Checks a parameter of a URL alone, so that an error names it.
fn check(name: &str, parameter: &str) -> Result<(), PostgresError> {
    let wrong = |reason: String| Err(PostgresError::Url { reason });
    if name != "user" && !PARAMETERS.contains(&name) {
        return wrong(format!("it has the unknown parameter {name}"));
    }
    match format!("postgres://user@host?{parameter}").parse::<Config>() {
        Ok(_) => Ok(()),
        Err(_) => wrong(format!("the value of the parameter {name} can't be used")),
    }
}

/// How a connection is encrypted, as libpq defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    Disable,
    Prefer,
    Require,
    /// The certificate must be signed by a known authority.
    VerifyCa,
    /// It must also be that of the host.
    VerifyFull,
}

/// What a URL says.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) encryption: Encryption,
    pub(super) root_certificates: Option<PathBuf>,
    /// The hosts, the ports and the database, for messages.
    pub(super) place: String,
}

/// Reads the URL of the options.
pub(super) fn parse(options: &PostgresOptions) -> Result<Target, PostgresError> {
    let wrong = |reason: &str| PostgresError::Url { reason: reason.to_owned() };
    let url = options.url.trim();
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(wrong("it does not begin with postgres://"));
    }
    // A password may contain a question mark.
    let host = url.find('@').unwrap_or_default();
    let question = url[host..].find('?').map_or(url.len(), |at| host + at);
    let (base, parameters) = (&url[..question], url.get(question + 1..).unwrap_or_default());
    let mut encryption = None;
    let mut root_certificates = None;
    let mut others = Vec::new();
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match name {
            "sslmode" => encryption = Some(encryption_of(value)?),
            "sslrootcert" if value == "system" => root_certificates = None,
            "sslrootcert" => {
                let path = decoded(value).ok_or_else(|| wrong("the path in sslrootcert is not UTF-8"))?;
                root_certificates = Some(PathBuf::from(path));
            }
            "sslcert" | "sslkey" | "sslpassword" | "sslcrl" | "sslcrldir" | "service" | "passfile" | "gssencmode"
            | "krbsrvname" | "requirepeer" => {
                return Err(wrong(&format!("the parameter {name} is not supported")));
            }
            _ => {
                // What looks like a parameter may be the rest of a password that is not encoded.
                let is_word =
                    parameter.len() > name.len() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
                if is_word && base.contains('@') && !parameters.contains('@') {
                    check(name, parameter)?;
                }
                others.push(parameter);
            }
        }
    }
    let mut encryption = encryption.unwrap_or(Encryption::Prefer);
    if encryption == Encryption::Require && root_certificates.is_some() {
        encryption = Encryption::VerifyCa;
    }
    let rest = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
    // The parser's own message may quote a part of the password.
    let mut config: Config = rest.parse().map_err(|_| wrong("it can't be read"))?;
    if config.get_hosts().is_empty() {
        return Err(wrong("it names no host"));
    }
    if config.get_user().is_none_or(str::is_empty) {
        return Err(wrong("it names no user"));
    }
    config
        .ssl_mode(match encryption {
            Encryption::Disable => SslMode::Disable,
            Encryption::Prefer => SslMode::Prefer,
            Encryption::Require | Encryption::VerifyCa | Encryption::VerifyFull => SslMode::Require,
        })
        // Reads must see every commit, so they go to the primary too.
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .connect_timeout(options.connect_timeout)
        // A connection whose packets are dropped is noticed, also while nothing is sent.
        .tcp_user_timeout(options.request_timeout)
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3);
    if config.get_application_name().is_none() {
        config.application_name("holdpoint");
    }
    let place = place(&config);
    Ok(Target { config, encryption, root_certificates, place })
}

fn encryption_of(mode: &str) -> Result<Encryption, PostgresError> {
    Ok(match mode {
        "disable" => Encryption::Disable,
        "prefer" | "allow" => Encryption::Prefer,
        "require" => Encryption::Require,
        "verify-ca" => Encryption::VerifyCa,
        "verify-full" => Encryption::VerifyFull,
        _ => {
            let reason = "sslmode is one of disable, prefer, require, verify-ca and verify-full".to_owned();
            return Err(PostgresError::Url { reason });
        }
    })
}

fn place(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(path) => format!("{}:{port}", path.display()),
        }
    });
    let hosts: Vec<_> = hosts.collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("{}/{database}", hosts.join(","))
}

/// Resolves percent-encoding.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        match hex {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, PostgresError> {
        parse(&PostgresOptions::new(url))
    }

    #[test]
    fn a_url_says_where_and_how() {
        let found =
            target("postgres://ann:s3cr%40t@a:1,b:2/log?sslmode=verify-full&sslrootcert=%2Fa%20b&application_name=x")
                .expect("it is read");
        assert_eq!(found.place, "a:1,b:2/log");
        assert_eq!(found.encryption, Encryption::VerifyFull);
        assert_eq!(found.root_certificates, Some("/a b".into()));
        assert_eq!(found.config.get_password(), Some(&b"s3cr@t"[..]));
        assert_eq!(found.config.get_application_name(), Some("x"));
        let found = target("postgresql://ann@host").expect("it is read");
        assert_eq!((found.place.as_str(), found.encryption), ("host:5432/ann", Encryption::Prefer));
        let found = target("postgres://ann@h/x?sslmode=require&sslrootcert=ca.pem").expect("it is read");
        assert_eq!(found.encryption, Encryption::VerifyCa, "as in libpq");
        let found = target("postgres://ann:a?sslmode=disable@h/x?sslmode=require").expect("it is read");
        assert_eq!(found.encryption, Encryption::Require, "the password says nothing about it");
        assert_eq!(found.config.get_password(), Some(&b"a?sslmode=disable"[..]));
    }

    #[test]
    fn a_parameter_that_can_not_be_used_is_named() {
        for (url, says) in [
            ("postgres://ann:x@h/x?sslmod=require", "it has the unknown parameter sslmod"),
            ("postgres://ann:x@h/x?application_name=a&pool_size=5", "it has the unknown parameter pool_size"),
            ("postgres://ann:x@h/x?connect_timeout=soon", "the value of the parameter connect_timeout can't be used"),
            ("postgres://ann:x@h/x?sslkey=a", "the parameter sslkey is not supported"),
            // The rest of a password may look like one.
            ("postgres://ann:x@y?word=1@h/x", "it can't be read"),
            ("postgres://ann:x?word=1", "it can't be read"),
        ] {
            let error = target(url).expect_err(url).to_string();
            assert!(error.contains(&format!("can't be used: {says}. ")), "{url}: {error}");
        }
        for known in PARAMETERS.into_iter().filter(|known| !["host", "hostaddr", "port"].contains(known)) {
            let value = match known {
                "channel_binding" => "prefer",
                "load_balance_hosts" => "disable",
                "sslnegotiation" => "postgres",
                "target_session_attrs" => "any",
                _ => "1",
            };
            assert!(target(&format!("postgres://ann:x@h/x?{known}={value}")).is_ok(), "{known}");
        }
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_it() {
        for url in [
            "",
            "sqlite:/x",
            "mysql://ann:s3cret@h/x",
            "postgres://",
            "postgres://ann:s3cret@h:port/x",
            "postgres://ann:s3cret@h/x?s3cret=1",
            "postgres://ann:s3cret@h/x?sslmode=s3cret",
            "postgres://ann:s3cret@h/x?sslcert=s3cret",
            "postgres://:s3cret@h/x",
            "postgres:///x",
        ] {
            let error = target(url).expect_err(url);
            assert!(matches!(error, PostgresError::Url { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }
}
