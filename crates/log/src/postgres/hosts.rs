//! The hosts of a URL, and which of them is used: the one that takes writes. A host that does not answer, such as a lost
//! primary, must not keep a node from the next one.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::time::timeout;
use tokio_postgres::{Client, Config, Connection, Error, Socket, config::Host, tls::MakeTlsConnect};

/// How long a host may take before the next one is tried beside it.
const HEAD_START: Duration = Duration::from_millis(150);

/// The hosts of a database.
pub(super) struct Hosts {
    /// One for each host.
    configs: Vec<Config>,
    /// The one that was connected to last.
    last: AtomicUsize,
}

impl Hosts {
    pub(super) fn new(config: &Config) -> Self {
        let count = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1);
        Self { configs: (0..count).map(|at| of_host(config, at)).collect(), last: AtomicUsize::new(0) }
    }

    pub(super) fn has_password(&self) -> bool {
        self.configs.iter().all(|config| config.get_password().is_some())
    }

    /// Connects to the first host that accepts, beginning with the one that did last time. The error is that of the last
    /// host to refuse.
    pub(super) async fn connect<T>(&self, tls: &T) -> Result<(Client, Connection<Socket, T::Stream>), Error>
    where
        T: MakeTlsConnect<Socket> + Clone,
    {
        let (count, first) = (self.configs.len(), self.last.load(Ordering::Relaxed));
        let mut waiting = (0..count).map(|nth| (first + nth) % count);
        let mut begun = FuturesUnordered::new();
        let mut refused = None;
        loop {
            let next = waiting.next();
            if let Some(at) = next {
                begun.push(async move { (at, self.configs[at].connect(tls.clone()).await) });
            }
            let ended = match next {
                Some(_) => match timeout(HEAD_START, begun.next()).await {
                    Ok(ended) => ended,
                    Err(_) => continue,
                },
                None => begun.next().await,
            };
            match (ended, refused.take()) {
                (Some((at, Ok(connected))), _) => {
                    self.last.store(at, Ordering::Relaxed);
                    return Ok(connected);
                }
                (Some((_, Err(error))), _) => refused = Some(error),
                (None, Some(error)) => return Err(error),
                // There is at least one host, so one has ended before.
                (None, None) => unreachable!("no host was tried"),
            }
        }
    }
}

/// The same configuration with one of its hosts.
fn of_host(all: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(at) {
        Some(Host::Tcp(name)) => one.host(name),
        #[cfg(unix)]
        Some(Host::Unix(path)) => one.host_path(path),
        None => &mut one,
    };
    if let Some(address) = all.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(at).or(all.get_ports().first()) {
        one.port(*port);
    }
    for (value, set) in [
        (all.get_user(), Config::user as fn(&mut Config, String) -> &mut Config),
        (all.get_dbname(), Config::dbname),
        (all.get_options(), Config::options),
        (all.get_application_name(), Config::application_name),
    ] {
        if let Some(value) = value {
            set(&mut one, value.to_owned());
        }
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(limit) = all.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .target_session_attrs(all.get_target_session_attrs())
        .channel_binding(all.get_channel_binding());
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_the_whole_configuration_of_the_url() {
        let url = "postgres://ann:s3cret@a:1,b:2/log?application_name=x&options=-cjit%3Doff&keepalives_idle=7";
        let all: Config =
            format!("{url}&channel_binding=require&target_session_attrs=read-write").parse().expect("read");
        let hosts = Hosts::new(&all);
        assert_eq!(hosts.configs.len(), 2);
        for (config, (host, port)) in hosts.configs.iter().zip([("a", 1), ("b", 2)]) {
            let own = url.replace("a:1,b:2", &format!("{host}:{port}"));
            let own = format!("{own}&channel_binding=require&target_session_attrs=read-write");
            assert_eq!(*config, own.parse::<Config>().expect("read"));
        }
        assert!(hosts.has_password());
    }
}
