//! Allowed addresses. A name is resolved once, the result is checked, and the connection goes to the checked address,
//! which defeats DNS rebinding.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use super::connect::AskBeforeSending;
use futures::future::BoxFuture;
use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};

/// Maximum redirects, all on the same host.
const MAX_REDIRECTS: usize = 5;

/// Connect timeout. A call that fails before it connects was certainly not carried out.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Resolves a host name.
pub(super) type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// The name has only private addresses.
#[derive(Debug, thiserror::Error)]
#[error("the host has a private address")]
pub(super) struct PrivateAddress;

/// The endpoint redirected to another host.
#[derive(Debug, thiserror::Error)]
#[error("a redirect to another host")]
pub(super) struct OtherHost;

/// The system's own resolver.
pub(super) fn system() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// A client that connects only to checked addresses and follows no redirect to another host. It uses no proxy, since a
/// proxy would resolve the name itself.
pub(super) fn client(allow_private: bool, lookup: Lookup) -> Result<Client, reqwest::Error> {
    Client::builder()
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        // A call on an idle connection that the endpoint closes at that moment would end as unknown.
        .pool_max_idle_per_host(0)
        .connector_layer(AskBeforeSending)
        .dns_resolver(Arc::new(Checked { allow_private, lookup }))
        .redirect(redirect::Policy::custom(|attempt| {
            let is_same = attempt.previous().last().is_some_and(|from| is_same_host(from, attempt.url()));
            if !is_same {
                attempt.error(OtherHost)
            } else if attempt.previous().len() > MAX_REDIRECTS {
                attempt.stop()
            } else {
                attempt.follow()
            }
        }))
        .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// The same scheme, host and port, or an upgrade from http to https on the same host.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.origin() == to.origin() || (is_upgrade && from.host_str() == to.host_str())
}

/// The IP address in a URL, if its host is one.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

struct Checked {
    allow_private: bool,
    lookup: Lookup,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (allow_private, found) = (self.allow_private, (self.lookup)(name.as_str().to_owned()));
        Box::pin(async move {
            let found = found.await?;
            let checked: Vec<SocketAddr> = found
                .iter()
                .filter(|address| allow_private || is_public(**address))
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            if checked.is_empty() && !found.is_empty() {
                return Err(PrivateAddress.into());
            }
            Ok(Box::new(checked.into_iter()) as Addrs)
        })
    }
}

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        // "This network", shared by carriers, protocol assignments, benchmarks, reserved.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b))
        || a >= 240;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        // IPv4 addresses embedded in IPv6: mapped, compatible, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Everything else in the zero prefix: unspecified, loopback, compatible, local translation.
        [0, ..] | [0x64, 0xff9b, 1, ..] | [0x100, 0, 0, 0, ..] => false,
        // Teredo, ORCHID, documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, ..] => false,
        // Only this range is allocated. Unique local, link local, site local and multicast are outside it.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for private in [
            "127.0.0.1",
            "127.8.9.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "100.127.1.1",
            "192.0.0.8",
            "198.18.0.1",
            "198.19.9.9",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
        for public in [
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "2002:101:101::",
        ] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
    }

    #[test]
    fn an_address_is_found_however_it_is_written() {
        for (url, expected) in [
            ("http://127.0.0.1/", Some("127.0.0.1")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("http://2130706433/", Some("127.0.0.1")),
            ("http://[::1]:80/", Some("::1")),
            ("http://a.example/", None),
        ] {
            let found = literal(&Url::parse(url).expect("a URL"));
            assert_eq!(found, expected.map(|text| text.parse().expect("an address")), "{url}");
        }
    }

    #[test]
    fn a_redirect_stays_with_its_host() {
        let same = |from: &str, to: &str| is_same_host(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        assert!(same("http://a.example/x", "http://a.example/y"));
        assert!(same("http://a.example/x", "https://a.example/x"));
        assert!(!same("https://a.example/x", "http://a.example/x"));
        assert!(!same("http://a.example/x", "http://a.example:8080/x"));
        assert!(!same("http://a.example/x", "http://b.example/x"));
    }
}
