//! What kind of request a route takes: the one place that decides what is served when everything else is refused.

use axum::http::Method;

/// The class of a route, by which the limits on connections and requests let it pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RouteClass {
    /// For monitoring: it needs no login and is always served.
    Monitoring,
    /// It ends or frees work, or shows what has to be decided. It has a reserve, so that a subject that has used up a limit
    /// can get below it again, and can take back what was granted.
    Release,
    /// Everything else. A chat request is here whatever its messages answer: its response is a stream, which would take
    /// the reserve for as long as the turn lasts. The same answers can be sent to the routes for them.
    Ordinary,
}

/// Every route that is not ordinary. A test compares the whole table of routes with this one.
const CLASSES: [(Method, &str, RouteClass); 14] = [
    (Method::GET, "/health", RouteClass::Monitoring),
    (Method::GET, "/ready", RouteClass::Monitoring),
    (Method::GET, "/metrics", RouteClass::Monitoring),
    (Method::GET, "/api/approvals", RouteClass::Release),
    (Method::GET, "/api/approvals/{approvalId}", RouteClass::Release),
    (Method::GET, "/api/approvals/{approvalId}/record", RouteClass::Release),
    (Method::POST, "/api/approvals/{approvalId}", RouteClass::Release),
    (Method::POST, "/api/tools/ack", RouteClass::Release),
    (Method::POST, "/api/chat/{id}/stop", RouteClass::Release),
    (Method::DELETE, "/api/chat/{id}", RouteClass::Release),
    (Method::DELETE, "/api/chat/ws", RouteClass::Release),
    (Method::DELETE, "/api/chat/", RouteClass::Release),
    (Method::GET, "/api/grants", RouteClass::Release),
    (Method::DELETE, "/api/grants/{grantId}", RouteClass::Release),
];

impl RouteClass {
    /// The class of a request. It is needed before the request is routed, and the router may be mounted below a prefix, so
    /// the end of the path is compared.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let found = CLASSES.iter().find(|(taken, route, _)| taken == method && ends_with(path, route));
        found.map_or(Self::Ordinary, |(_, _, class)| *class)
    }
}

/// Whether a path ends like a route, in which `{…}` is any segment.
fn ends_with(path: &str, route: &str) -> bool {
    let mut path = path.rsplit('/');
    // Before the first slash of a route is nothing, where the path may have a prefix.
    let route = route.strip_prefix('/').unwrap_or(route).rsplit('/');
    route.into_iter().all(|expected| {
        path.next().is_some_and(|segment| match expected.starts_with('{') {
            true => !segment.is_empty(),
            false => segment == expected,
        })
    }) && path.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app;

    /// A new route is ordinary only if somebody says so here.
    const ORDINARY: [(&str, &str); 19] = [
        ("post", "/stream"),
        ("get", "/live"),
        ("post", "/api/chat"),
        ("get", "/api/chat/ws"),
        ("get", "/api/chat/{id}/stream"),
        ("get", "/api/chat/{id}/messages"),
        ("get", "/api/chat/{id}/holds"),
        ("get", "/api/chat/{id}/files/{call}/{index}"),
        ("get", "/api/chats"),
        ("get", "/api/audit"),
        ("get", "/api/tools"),
        ("post", "/api/check"),
        ("get", "/api/events"),
        ("get", "/api/me"),
        ("post", "/api/ticket"),
        ("get", "/api/status"),
        ("get", "/openapi.json"),
        ("get", "/docs"),
        // The console has no other.
        ("get", "/"),
    ];

    #[test]
    fn every_route_has_a_class() {
        let api = serde_json::to_value(app::routes().into_openapi()).expect("JSON");
        let mut classified = 0;
        for (path, methods) in api["paths"].as_object().expect("paths") {
            for method in methods.as_object().expect("methods").keys() {
                let is_ordinary = ORDINARY.contains(&(method, path));
                let as_method = Method::from_bytes(method.to_uppercase().as_bytes()).expect("a method");
                let has_class = CLASSES.iter().any(|(taken, route, _)| *taken == as_method && route == path);
                assert!(is_ordinary != has_class, "{method} {path}: what is its class?");
                for prefix in ["", "/agent", "/a/b"] {
                    let class = RouteClass::of(&as_method, &format!("{prefix}{path}"));
                    assert_eq!(class == RouteClass::Ordinary, is_ordinary, "{method} {prefix}{path}");
                }
                classified += usize::from(has_class);
            }
        }
        // The route of the chat without a name is not in the description.
        assert_eq!(classified + 1, CLASSES.len());
    }

    #[test]
    fn a_class_is_that_of_the_method_and_the_whole_end() {
        let of = |method: Method, path: &str| RouteClass::of(&method, path);
        assert_eq!(of(Method::HEAD, "/health"), RouteClass::Monitoring);
        assert_eq!(of(Method::GET, "/agent/ready"), RouteClass::Monitoring);
        assert_eq!(of(Method::POST, "/agent/api/approvals/approval_1"), RouteClass::Release);
        assert_eq!(of(Method::DELETE, "/api/chat/"), RouteClass::Release);
        for path in ["/", "", "/healthy", "/api/approvals/a/b", "/api/approvals/", "x/api", "health"] {
            assert_eq!(of(Method::GET, path), RouteClass::Ordinary, "{path}");
        }
        assert_eq!(of(Method::POST, "/health"), RouteClass::Ordinary);
        assert_eq!(of(Method::GET, "/api/chat/c/stop"), RouteClass::Ordinary);
        assert_eq!(of(Method::POST, "/api/chat//stop"), RouteClass::Ordinary);
    }
}
