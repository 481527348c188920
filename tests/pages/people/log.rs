//! Tests of the log lines about sign-ins, which contain no secret, and of the error messages about
//! conflicting flags.

use std::process::Command;
use std::time::{Duration, Instant};

use engine::clock::Clock;
use reqwest::Method;
use serde_json::json;
use test_support::node::Node;
use test_support::server_process::output_of;
use test_support::{ApiResponse, new_id};

use super::idp::Idp;
use super::provider::sign_in_at_provider;
use super::{Browser, field, member, path_of};

/// Waits until the log has a second line about a request, in addition to the access line. Checks
/// the message of that line and returns the line.
async fn line(node: &Node, response: &ApiResponse, message: &str) -> String {
    let id = response.header("x-request-id").unwrap();
    let start = Instant::now();
    loop {
        let lines: Vec<String> = node
            .lines(id)
            .into_iter()
            .filter(|line| !line.contains("\"message\":\"request\""))
            .collect();
        if let [line] = lines.as_slice()
            && node.lines(id).len() == 2
        {
            assert!(line.contains(message), "{line}");
            return line.clone();
        }
        assert!(
            lines.len() < 2 && start.elapsed() < Duration::from_secs(20),
            "{lines:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sign_ins_and_refusals_are_logged_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(
        &format!("sqlite:{}", directory.path().join("log.db").display()),
        &[],
    );
    let (organization, id) = (new_id(), new_id());
    let base = format!("/organizations/{organization}");
    let member_path = format!("{base}/members/{id}");
    node.platform()
        .ok(Method::PUT, &base, Some(json!({ "name": "Casa" })))
        .await;
    node.platform()
        .ok(Method::PUT, &member_path, Some(member("ada@example.com")))
        .await;
    let link = || async {
        path_of(
            &node
                .platform()
                .ok(
                    Method::POST,
                    &format!("{member_path}/sign-in-links"),
                    Some(json!({})),
                )
                .await,
        )
    };
    let browser = Browser::at(&node.base);
    let path = link().await;
    let page = browser.page(&path).await;
    let (form, ticket) = (field(&page, "form"), field(&page, "ticket"));
    let forms = browser.cookie("vestibule_forms").unwrap();

    let forged = browser
        .post("/sign-in", &[("form", "x"), ("ticket", &ticket)])
        .await;
    line(&node, &forged, "the form was not given to this browser").await;
    let came = browser
        .post("/sign-in", &[("form", &form), ("ticket", &ticket)])
        .await;
    let session = browser.cookie("vestibule_session").unwrap();
    let text = line(&node, &came, "\"message\":\"signed in\"").await;
    assert!(
        text.contains(&organization.to_string()) && text.contains(&id.to_string()),
        "{text}"
    );
    let used = browser.get(&path).await;
    line(
        &node,
        &used,
        "the sign-in link was used, has expired or never existed",
    )
    .await;
    let mut inactive = member("ada@example.com");
    inactive["isActive"] = json!(false);
    let late = link().await;
    node.platform()
        .ok(Method::PUT, &member_path, Some(inactive))
        .await;
    let barred = browser.get(&late).await;
    let text = line(&node, &barred, "the member is not active").await;
    assert!(text.contains(&organization.to_string()), "{text}");

    let out = browser.get("/sign-in").await;
    let text = line(&node, &out, "the member is not active").await;
    assert!(text.contains(&organization.to_string()), "{text}");

    let late = late.split_once('=').unwrap().1;
    for secret in [
        &ticket,
        &form,
        &forms,
        &session,
        late,
        "ada@example.com",
        "Ada",
    ] {
        assert_eq!(node.lines(secret), [""; 0]);
    }
}

/// The log line contains the issuer, the claim, its value and the expected value. It identifies no
/// person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_claim_is_logged_with_its_expected_value() {
    let idp = Idp::start().await;
    idp.use_clock(&Clock::system());
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(
        &format!("sqlite:{}", directory.path().join("log.db").display()),
        &idp.flags().each_ref().map(String::as_str),
    );
    let browser = Browser::at(&node.base);
    let (untrue, unverified) = (
        "the ID token is not valid",
        "the provider has not verified a mail address",
    );
    for (claims, message, parts) in [
        (
            json!({ "aud": "another" }),
            untrue,
            ["aud is", "another", "expected the client id"],
        ),
        (
            json!({ "email_verified": "yes" }),
            untrue,
            ["email_verified is", "yes", "expected true or false"],
        ),
        (
            json!({ "email_verified": false }),
            unverified,
            ["email_verified is", "false", "expected true"],
        ),
        (
            json!({ "email_verified": null }),
            unverified,
            [
                "email_verified is",
                "missing",
                "expected an address and true",
            ],
        ),
        (
            json!({ "email": null }),
            unverified,
            ["email is", "missing", "expected an address and true"],
        ),
    ] {
        idp.override_claims(claims);
        let refused = sign_in_at_provider(&browser, &idp).await;
        let text = line(&node, &refused, message).await;
        for part in [idp.issuer.as_str()].iter().chain(&parts) {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert_eq!(node.lines("ada@example.com"), [""; 0]);
}

#[test]
fn conflicting_sign_in_flags_are_refused_with_a_message() {
    let directory = tempfile::tempdir().unwrap();
    for (flags, text) in [
        (
            &["--oidc-issuer=http://id.example.com", "--oidc-client-id=x"][..],
            "http is allowed for a loopback address only",
        ),
        (
            &["--oidc-issuer=nonsense", "--oidc-client-id=x"],
            "is not an issuer",
        ),
        (
            &["--oidc-issuer=https://id.example.com"],
            "--oidc-issuer needs --oidc-client-id",
        ),
        (
            &["--oidc-client-id=x"],
            "--oidc-client-id needs --oidc-issuer",
        ),
        (
            &["--oidc-client-secret=x"],
            "--oidc-client-secret needs --oidc-issuer",
        ),
        (&["--sign-in-url=javascript:alert(1)"], "is not an address"),
    ] {
        let output = output_of(
            Command::new(test_support::program())
                .args([
                    "serve",
                    "--listen=127.0.0.1:0",
                    "--database-url=sqlite:flags.db",
                ])
                .args(flags)
                .current_dir(directory.path()),
        );
        let reported = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && reported.contains(text),
            "{flags:?}: {reported}"
        );
    }
}
