//! Names and addresses of this machine, and the strict reading of `Origin` and `Host`.

use std::net::{IpAddr, Ipv6Addr};

/// An authority as browsers send it: a host, and a port if it is not the default. Never a user, a path, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Authority<'a> {
    /// Without the brackets of an IPv6 address.
    pub(super) host: &'a str,
}

impl<'a> Authority<'a> {
    /// Reads `host`, `host:port`, `[address]`, `[address]:port`.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (address, port)
            }
            None => {
                let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                is_name(host).then_some((host, port))?
            }
        };
        let is_port = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok();
        (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(Self { host })
    }

    /// Whether the host is this machine.
    pub(super) fn is_local(&self) -> bool {
        let is_loopback = self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let name = self.host.to_ascii_lowercase();
        is_loopback || name == "localhost" || name.ends_with(".localhost")
    }
}

/// Whether a text is a name or an IPv4 address: labels with dots between them.
fn is_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let is_in_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    host.len() <= 253 && host.split('.').all(|label| !label.is_empty() && label.bytes().all(is_in_label))
}

/// The authority of a web page's origin. Other origins, of extensions or files, are not trusted here.
pub(super) fn authority(origin: &str) -> Option<&str> {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    Authority::read(authority).map(|_| authority)
}

/// Whether the origin is on this machine.
pub(super) fn is_local_origin(origin: &str) -> bool {
    authority(origin).and_then(Authority::read).is_some_and(|authority| authority.is_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_local(authority: &str) -> bool {
        Authority::read(authority).is_some_and(|authority| authority.is_local())
    }

    #[test]
    fn what_is_this_machine() {
        for local in
            ["localhost", "LOCALHOST:8787", "127.0.0.1:8787", "127.1.2.3", "[::1]:8787", "[::1]", "app.localhost:1"]
        {
            assert!(is_local(local), "{local}");
        }
        for other in
            ["example.com", "localhost.example.com", "127.0.0.1.example.com:8787", "10.0.0.1", "[::2]:1", "", "null"]
        {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn what_no_browser_sends_is_nothing() {
        for text in [
            "",
            ":80",
            "localhost:",
            "localhost:x",
            "localhost:65536",
            "localhost:+1",
            "localhost:1@evil.example",
            "evil.example@localhost",
            "localhost/path",
            "localhost, evil.example",
            "localhost evil",
            "a..localhost",
            ".localhost",
            "[::1",
            "[::1]x",
            "[localhost]",
            "[127.0.0.1]",
            "::1",
            "localhost\u{e9}",
            "[fe80::1%25eth0]",
        ] {
            assert_eq!(Authority::read(text), None, "{text}");
        }
        for origin in [
            "chrome-extension://localhost",
            "file://localhost",
            "localhost",
            "null",
            "http://",
            "HTTP://localhost",
            "http://localhost/",
            "http://localhost#x",
        ] {
            assert!(!is_local_origin(origin), "{origin}");
        }
        for origin in ["http://localhost:3000", "https://app.localhost", "http://[::1]:1", "http://127.0.0.1"] {
            assert!(is_local_origin(origin), "{origin}");
        }
        assert_eq!(Authority::read("my_host-1.example.:80"), Some(Authority { host: "my_host-1.example." }));
    }
}
