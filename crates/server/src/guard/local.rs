//! Names and addresses of this machine.

/// Whether the origin is on this machine.
pub(super) fn is_local_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| is_local(host(authority)))
}

/// The host of an authority: `host`, `host:port`, `[address]:port`.
pub(super) fn host(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host is this machine.
pub(super) fn is_local(host: &str) -> bool {
    let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_this_machine() {
        for local in ["localhost", "LOCALHOST:8787", "127.0.0.1:8787", "127.1.2.3", "[::1]:8787", "app.localhost:1"] {
            assert!(is_local(host(local)), "{local}");
        }
        for other in
            ["example.com", "localhost.example.com", "127.0.0.1.example.com:8787", "10.0.0.1", "[::2]:1", "", "null"]
        {
            assert!(!is_local(host(other)), "{other}");
        }
    }
}
