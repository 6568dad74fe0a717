"""Every setting of Sluice. Values come from the environment; `.env.example` describes each variable."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet, MultiFernet
from django.contrib.messages import constants as message_levels
from environ import Env
from iso4217 import Currency

from config.environment import checkout_account, database_url, env, paystack_account
from config.environment.sandbox_folder import CURRENT, DEFAULT, SandboxFolder
from config.logging import logs
from config.version import VERSION
from kit import banks

BASE_DIR = Path(__file__).resolve().parent.parent

# Environment -----------------------------------------------------------------------------------------

ENVIRONMENT = env.choice("ENVIRONMENT", ("sandbox", "production"), default="sandbox")
SANDBOX = ENVIRONMENT == "sandbox"
env.stop_if_invalid("ENVIRONMENT")  # most defaults follow from it
DEBUG = env.flag("DEBUG", default=False)

SANDBOX_FOLDER = SandboxFolder(Path(env.text("SANDBOX_DATA", default=str(DEFAULT))).resolve())
SANDBOX_CURRENT = Path(env.text("SANDBOX_CURRENT", default=str(CURRENT)))


def _secret(name: str) -> str:
    """Return a secret from the environment; a sandbox makes its own, production must be given one."""
    value = env.text(name)
    if value:
        return value
    if SANDBOX:
        return SANDBOX_FOLDER.keys()[name]
    env.refuse(f"{name} must be set in production.")
    return ""


SECRET_KEY = _secret("SECRET_KEY")
FIELD_ENCRYPTION_KEYS = [key.strip() for key in _secret("FIELD_ENCRYPTION_KEYS").split(",")]
FINGERPRINT_KEY = _secret("FINGERPRINT_KEY")

if any(FIELD_ENCRYPTION_KEYS):
    try:
        MultiFernet([Fernet(key) for key in FIELD_ENCRYPTION_KEYS])
    except ValueError:
        env.refuse("FIELD_ENCRYPTION_KEYS must be Fernet keys.")

# Web -------------------------------------------------------------------------------------------------

# Commands of a sandbox use the address at which its web process was last started.
PUBLIC_URL = env.text("PUBLIC_URL", default=SANDBOX_FOLDER.address() or "http://127.0.0.1:8000").rstrip("/")
if not re.match(r"https?://[^/?#@\s]+(/[^?#\s]*)?\Z", PUBLIC_URL):
    env.refuse("PUBLIC_URL must be an http:// or https:// address.")
ALLOWED_HOSTS = env.words(
    "ALLOWED_HOSTS", default=("*",) if SANDBOX else (urlsplit(PUBLIC_URL).hostname or "",)
)
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
FORCE_SCRIPT_NAME = ""  # a request header of this name would change paths and links
APPEND_SLASH = False  # an unsigned redirect would only break a signed request

INSTALLED_APPS = [
    "operations",
    "developer_site",
    "config",
    "dashboard",
    "payout_batches",
    "connectors",
    "disputes",
    "payments",
    "cash",
    "virtual_accounts",
    "webhooks",
    "ledger",
    "merchants",
    "operations.administration.admin_app.AdministrationConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "heroicons",
]

MIDDLEWARE = [
    "config.middleware.RequestContext",
    "config.middleware.SecurityHeaders",
    "config.middleware.KnownHost",
    "config.middleware.ApiRequestChecks",
    "config.middleware.CompleteBody",
    "config.middleware.Compression",
    "config.middleware.StaticFiles",
    "config.middleware.Sessions",
    "config.middleware.FormProtection",
    "config.middleware.SignIn",
    "config.middleware.Messages",
    "config.middleware.HtmxRedirects",
    "allauth.account.middleware.AccountMiddleware",  # allauth requires this name
    "config.access_middleware.AccessRules",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["config.template_loader.Unindented", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "builtins": ["dashboard.templatetags.form_business"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

STATIC_URL = "/static/"
STATIC_ROOT = None if SANDBOX else BASE_DIR / "staticfiles"  # a sandbox serves them from their source
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = SANDBOX

AUTH_USER_MODEL = "merchants.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Sign-in: allauth manages sessions, second factors and passwords, with our texts and URLs.
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
SECOND_FACTOR_REQUIRED = not SANDBOX  # for owners and staff
ACCOUNT_ADAPTER = "dashboard.account.adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # the invitation proves the address
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = (
    False  # dashboard/account/sign_in/sign_in_limits.py has limits that don't need the cache
)
ACCOUNT_FORMS = {
    "change_password": "dashboard.account.second_factor.code_forms.PasswordChange",
    "reset_password": "dashboard.account.sign_in.password_reset.ResetPasswordForm",
}
MFA_ADAPTER = "dashboard.account.adapters.MFAAdapter"
MFA_FORMS = {
    "activate_totp": "dashboard.account.second_factor.code_forms.SetUpCode",
    "authenticate": "dashboard.account.second_factor.code_forms.SecondStepCode",
    "reauthenticate": "dashboard.account.second_factor.code_forms.ConfirmationCode",
    "add_webauthn": "dashboard.account.second_factor.passkey_forms.MakesPasskey",
    "authenticate_webauthn": "dashboard.account.second_factor.passkey_forms.SecondStep",
    "login_webauthn": "dashboard.account.second_factor.passkey_forms.SignIn",
    "reauthenticate_webauthn": "dashboard.account.second_factor.passkey_forms.Confirmation",
}
MFA_ALLOW_UNVERIFIED_EMAIL = True  # allauth adds an unverified address when a password is reset
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_TOTP_TOLERANCE = 1  # also accept the previous and next code, because clocks differ
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_PASSKEY_LOGIN_ENABLED = True
# Passkeys replace the password at sign-in and reauthentication, with user verification by the device.
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = SANDBOX  # http://localhost

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not SANDBOX
SESSION_COOKIE_HTTPONLY = True
# Seconds for which a password or second factor counts as recent.
ACCOUNT_REAUTHENTICATION_TIMEOUT = env.number(
    "REAUTHENTICATION_TIMEOUT", default=600, minimum=60, maximum=3600
)
INVITATION_RETENTION = env.number("INVITATION_RETENTION", default=90, minimum=1)  # days after its end
SESSION_COOKIE_AGE = 12 * 3600  # seconds: a working day
DEVICE_COOKIE_NAME = "device"
if not SANDBOX:
    # The __Host- prefix makes browsers accept these cookies only over https and only from this host.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-session", "__Host-csrf"
    DEVICE_COOKIE_NAME = "__Host-device"
HSTS_SECONDS = env.number("HSTS_SECONDS", default=0 if SANDBOX else 365 * 24 * 3600)
# Django's deploy check expects its own middleware. Ours does the same, but skips API calls.
SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # SecurityMiddleware: config.middleware.SecurityHeaders
    "security.W002",  # XFrameOptionsMiddleware: the same
    "security.W003",  # CsrfViewMiddleware: config.middleware.FormProtection
]
CSRF_FAILURE_VIEW = "developer_site.views.forged"
SECURE_PROXY_SSL_HEADER = None if SANDBOX else ("HTTP_X_FORWARDED_PROTO", "https")
# Number of trusted entries at the end of X-Forwarded-For. Clients can send any other entries.
PROXIES_IN_FRONT = env.number("PROXIES_IN_FRONT", default=0 if SANDBOX else 1, minimum=0)

MESSAGE_TAGS = {message_levels.INFO: "plain", message_levels.ERROR: "danger"}  # the styles of our notices

MAX_BODY_BYTES = 64 * 1024
# Of the addresses that take a whole payout batch.
MAX_BATCH_BYTES = 1024 * 1024
MAX_FILE_BYTES = 4 * 1024 * 1024  # of a file that the API takes as a body: evidence of a dispute
MAX_LOGO_BYTES = 100 * 1024  # of a business's logo, which payers load over slow lines
# A form with such a file of evidence. The smaller limits are the middleware's.
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_FILE_BYTES + MAX_BODY_BYTES

LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = "UTC"
USE_TZ = True

# Database and cache ----------------------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES: dict[str, dict[str, Any]] = {
    "default": env.url(
        "DATABASE_URL", read=database_url.read, example="postgres://user:password@host:5432/name"
    )
    or {"ENGINE": "django.db.backends.sqlite3", "NAME": str(SANDBOX_FOLDER.database)}
}
# What a connection is to: a session of PostgreSQL, or PgBouncer in transaction mode, which shares sessions.
DATABASE_POOLING = env.choice("DATABASE_POOLING", ("session", "transaction"), default="session")
DATABASES["default"]["CONN_MAX_AGE"] = None
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        # Take the write lock at BEGIN. Otherwise, two transactions that read first and write later would fail.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    # No health check before each request, which would cost every call a round trip. Without it, each connection
    # returns one 503 with Retry-After after a restart of PostgreSQL.
    DATABASES["default"]["OPTIONS"] = {
        # Requests that wait longer get 503, instead of queuing behind a blocked transaction.
        **database_url.with_session_parameters(
            DATABASES["default"]["OPTIONS"],
            statement_timeout=env.number("DATABASE_STATEMENT_TIMEOUT", default=30_000),  # milliseconds
            lock_timeout=env.number("DATABASE_LOCK_TIMEOUT", default=3_000),
            idle_in_transaction_session_timeout=60_000,
        ),
        # Values are sent separately from statements: this is faster and keeps them out of PostgreSQL's log.
        "server_side_binding": True,
        # Other transactions of a shared session would not have the prepared statements, or have others of the same name.
        "prepare_threshold": 2 if DATABASE_POOLING == "session" else None,
    }
    # A cursor that outlives its transaction belongs to the session too.
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = DATABASE_POOLING == "transaction"


def _redis(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError
    _ = urlsplit(url).port  # raises ValueError, also if a password has a / or # that is not percent-encoded
    return url


REDIS_URL = env.url("REDIS_URL", read=_redis, example="redis://host:6379/0") or ""
if REDIS_URL:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "json",  # earlier releases stored pickles without a prefix: neither reads the other's entries
            "OPTIONS": {
                "serializer": "config.runtime.cache.JSONSerializer",
                # Seconds; the most that an unavailable Redis delays a call.
                "socket_timeout": 0.5,
                "socket_connect_timeout": 0.5,
            },
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# Tasks -----------------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_TRANSPORT = "config.runtime.broker:Transport" if REDIS_URL else None
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 2} if REDIS_URL else {}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
# Only JSON messages are accepted. With pickle, write access to Redis would be enough to run code.
CELERY_ACCEPT_CONTENT = CELERY_RESULT_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = CELERY_EVENT_SERIALIZER = "json"
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # no message can stop or reconfigure a worker
CELERY_TASK_DEFAULT_QUEUE = "sluice"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

# Mail ------------------------------------------------------------------------------------------------

MAIL_FROM = env.text("MAIL_FROM", default="Sluice <no-reply@localhost>")
DEFAULT_FROM_EMAIL = SERVER_EMAIL = MAIL_FROM
vars().update(  # EMAIL_HOST etc.
    env.url(
        "MAIL_URL",
        read=Env.email_url_config,
        example="smtp+tls://user:password@host:587",
        default="consolemail://" if SANDBOX else "dummymail://",
    )
    or {}
)
EMAIL_TIMEOUT = 10  # seconds

# The API ---------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["merchants.api.authentication.SignedRequest"],
    "DEFAULT_PERMISSION_CLASSES": [
        "merchants.api.api_key_permissions.KeyAllowsMethod",
        "config.query_parameters.OnlyKnownParameters",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["merchants.api.rate_limits.PerKeyRateLimit"],
    "DEFAULT_PARSER_CLASSES": ["kit.api.json.strict_json.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["kit.api.json.json_answers.JSONAnswerRenderer"],
    "DEFAULT_METADATA_CLASS": "kit.api.allowed_methods.AllowedMethods",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "kit.api.json.json_answers.UsualAcceptFirst",
    "DEFAULT_SCHEMA_CLASS": "developer_site.openapi.schema.SluiceSchema",
    "EXCEPTION_HANDLER": "config.errors.problems.answer_exception",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # `?format=` is an unknown parameter
}

SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "TITLE": "Sluice",
    "VERSION": VERSION,
    "SERVERS": [{"url": PUBLIC_URL, "description": ENVIRONMENT.capitalize()}],
    "CONTACT": {"name": "The operator of this service", "url": f"{PUBLIC_URL}/docs/"},
    "LICENSE": {"name": "To be decided", "identifier": "LicenseRef-to-be-decided"},
    "SCHEMA_PATH_PREFIX": "/api",
    "COMPONENT_SPLIT_REQUEST": True,  # names request schemas …Request
    "COMPONENT_SPLIT_PATCH": False,  # the serializer of a change says which fields are optional
    "SORT_OPERATION_PARAMETERS": False,
    # Enums are inlined. This hook adds the components of operations and the introduction.
    "POSTPROCESSING_HOOKS": ["developer_site.openapi.document.complete"],
}

SIGNATURE_TOLERANCE = 300  # seconds a timestamp may differ from the server's clock
NONCE_RETENTION = 3600  # seconds; at least 900, and more than twice the tolerance
REQUEST_LOG_DAYS = env.number("REQUEST_LOG_DAYS", default=30, minimum=0)  # 0: no request log
REQUEST_LOG_READS = env.flag("REQUEST_LOG_READS", default=SANDBOX)  # successful GETs, which change nothing
RATE_LIMIT_WRITES = env.number("RATE_LIMIT_WRITES", default=100, minimum=1)  # per key and second
RATE_LIMIT_READS = env.number("RATE_LIMIT_READS", default=300, minimum=1)

# Payments --------------------------------------------------------------------------------------------

# Connectors. If one is empty, its rail returns 503 `rail_unavailable`.
RAIL_CONNECTORS = {"cards": "CARD_ACQUIRER", "payouts": "PAYOUT_BANK", "virtual_accounts": "ACCOUNT_PROVIDER"}
RAILS_NOT_USED = env.choices("RAILS_NOT_USED", RAIL_CONNECTORS)  # without a connector on purpose


# Providers by name, each for all rails that it has a connector for. Settings of single rails come first.
PROVIDERS = {"checkout": ("cards",), "paystack": ("cards", "payouts", "virtual_accounts")}
RAILS = env.choices("RAILS", PROVIDERS)


def _default_connector(rail: str) -> str:
    if rail in RAILS_NOT_USED:
        return ""
    chosen = [provider for provider in RAILS if rail in PROVIDERS[provider]]
    return chosen[0] if chosen else "sandbox" if SANDBOX else ""


CARD_ACQUIRER = env.text("CARD_ACQUIRER", default=_default_connector("cards"))
PAYOUT_BANK = env.text("PAYOUT_BANK", default=_default_connector("payouts"))
# The bank that hosts virtual accounts: its connector, CBN code and name, and the keys of its notifications.
ACCOUNT_PROVIDER = env.text("ACCOUNT_PROVIDER", default=_default_connector("virtual_accounts"))
_PATH_OF_A_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)  # accepted for one more release
for _rail, _chosen, _known in (
    ("cards", CARD_ACQUIRER, ("sandbox", "iso8583", "checkout", "paystack")),
    ("payouts", PAYOUT_BANK, ("sandbox", "http", "paystack")),
    ("virtual_accounts", ACCOUNT_PROVIDER, ("sandbox", "paystack")),
):
    if _rail in RAILS_NOT_USED and _chosen:
        env.refuse(f"RAILS_NOT_USED has {_rail}, but {RAIL_CONNECTORS[_rail]} is set. Remove one of them.")
    elif _chosen not in {"", *_known} and not _PATH_OF_A_CLASS.fullmatch(_chosen):
        env.refuse(f"{RAIL_CONNECTORS[_rail]} must be one of {', '.join(_known)}.")
VIRTUAL_ACCOUNT_BANK_CODE = env.text("VIRTUAL_ACCOUNT_BANK_CODE", default="035" if SANDBOX else "")
_hosting_bank = banks.find(VIRTUAL_ACCOUNT_BANK_CODE)
VIRTUAL_ACCOUNT_BANK_NAME = env.text(
    "VIRTUAL_ACCOUNT_BANK_NAME", default=_hosting_bank.name if _hosting_bank else ""
)
BANK_NOTIFICATION_KEYS = env.words("BANK_NOTIFICATION_KEYS")

# The ISO 8583 acquirer. The timeout must be shorter than the re-query interval (10 s).
ACQUIRER_HOST = env.text("ACQUIRER_HOST")
ACQUIRER_PORT = env.number("ACQUIRER_PORT", default=8583, minimum=1, maximum=65535)
ACQUIRER_TLS = env.flag("ACQUIRER_TLS", default=not SANDBOX)
ACQUIRER_TIMEOUT = env.number("ACQUIRER_TIMEOUT", default=8, minimum=1, maximum=9)  # seconds
ACQUIRER_ECHO_INTERVAL = env.number("ACQUIRER_ECHO_INTERVAL", default=60, minimum=1)  # seconds
ACQUIRER_INSTITUTION_ID = env.text("ACQUIRER_INSTITUTION_ID")
ACQUIRER_TERMINAL_ID = env.text("ACQUIRER_TERMINAL_ID")
ACQUIRER_MERCHANT_ID = env.text("ACQUIRER_MERCHANT_ID")
ACQUIRER_MERCHANT_CATEGORY = env.text("ACQUIRER_MERCHANT_CATEGORY", default="5999")  # ISO 18245
ACQUIRER_COUNTRY = env.text("ACQUIRER_COUNTRY", default="566")  # ISO 3166-1 numeric
ACQUIRER_PLACE = env.text("ACQUIRER_PLACE", default="LAGOS NG")

# The bank with a signed JSON API.
BANK_URL = env.text("BANK_URL").rstrip("/")
BANK_CLIENT_ID = env.text("BANK_CLIENT_ID")
BANK_SECRET_KEY = env.text("BANK_SECRET_KEY")
BANK_CA_FILE = env.text("BANK_CA_FILE")
# Seconds for a whole call, from connecting to reading the response.
BANK_TIMEOUT = env.number("BANK_TIMEOUT", default=8, minimum=1, maximum=9)
# Hours after a payout's creation in which the bank still recognises its reference, so that it can be resent.
BANK_MEMORY = env.number("BANK_MEMORY", default=24, minimum=1)

# Webhooks of providers. Several keys are valid during a rotation. Paystack also signs with the secret key.
CHECKOUT_WEBHOOK_KEYS = env.words("CHECKOUT_WEBHOOK_KEYS")
PAYSTACK_WEBHOOK_KEYS = env.words("PAYSTACK_WEBHOOK_KEYS")

# `make run-production ARGS=--simulators`: providers may be simulators on this machine in production too.
SIMULATED_PROVIDERS = env.flag("SIMULATED_PROVIDERS", default=False)
if SIMULATED_PROVIDERS and urlsplit(PUBLIC_URL).hostname not in {"localhost", "127.0.0.1"}:
    env.refuse("SIMULATED_PROVIDERS takes no real payments: it is only for a PUBLIC_URL on this machine.")

# The account at Paystack.
PAYSTACK_SECRET_KEY = env.text("PAYSTACK_SECRET_KEY")
PAYSTACK_URL = env.text("PAYSTACK_URL", default="https://api.paystack.co").rstrip("/")
PAYSTACK_INTEGRATION = env.text("PAYSTACK_INTEGRATION")
PAYSTACK_CURRENCIES = env.currencies("PAYSTACK_CURRENCIES", read=paystack_account.currency, default=("NGN",))
PAYSTACK_CA_FILE = env.text("PAYSTACK_CA_FILE")
PAYSTACK_CARDS = env.choice("PAYSTACK_CARDS", ("hosted", "direct"), default="hosted")
# Of payers who gave none. Virtual accounts are customers with this address and a tag.
PAYSTACK_FALLBACK_EMAIL = env.text("PAYSTACK_FALLBACK_EMAIL")
# The bank of virtual accounts, by its slug there; empty: Paystack chooses.
PAYSTACK_PREFERRED_BANK = env.text(
    "PAYSTACK_PREFERRED_BANK", default="test-bank" if PAYSTACK_SECRET_KEY.startswith("sk_test_") else ""
)
# Seconds for sending a payout, which takes several calls, and for each query.
PAYSTACK_TIMEOUT = env.number("PAYSTACK_TIMEOUT", default=8, minimum=1, maximum=9)
for _problem in paystack_account.problems(
    secret_key=PAYSTACK_SECRET_KEY,
    url=PAYSTACK_URL,
    integration=PAYSTACK_INTEGRATION,
    fallback_email=PAYSTACK_FALLBACK_EMAIL,
    opens_accounts=ACCOUNT_PROVIDER == "paystack",
    is_sandbox=SANDBOX,
    may_be_simulated=SANDBOX or SIMULATED_PROVIDERS,
):
    env.refuse(_problem)

# The account at Checkout.com.
CHECKOUT_SECRET_KEY = env.text("CHECKOUT_SECRET_KEY")
CHECKOUT_PROCESSING_CHANNEL = env.text("CHECKOUT_PROCESSING_CHANNEL")
CHECKOUT_URL = env.text("CHECKOUT_URL").rstrip("/")
CHECKOUT_CA_FILE = env.text("CHECKOUT_CA_FILE")
# Seconds for a whole order or query, with its repeats. Shorter than the re-query interval (10 s).
CHECKOUT_TIMEOUT = env.number("CHECKOUT_TIMEOUT", default=9, minimum=1, maximum=9)
CHECKOUT_CARDS = env.choice("CHECKOUT_CARDS", ("direct", "hosted"), default="direct")
CHECKOUT_CURRENCIES = env.currencies("CHECKOUT_CURRENCIES", read=checkout_account.currency, default=("NGN",))
CHECKOUT_CITY = env.text("CHECKOUT_CITY", default="Lagos")
CHECKOUT_COUNTRY = env.text("CHECKOUT_COUNTRY", default="NG")
for _problem in checkout_account.problems(
    secret_key=CHECKOUT_SECRET_KEY,
    url=CHECKOUT_URL,
    channel=CHECKOUT_PROCESSING_CHANNEL,
    is_sandbox=SANDBOX,
    may_be_simulated=SANDBOX or SIMULATED_PROVIDERS,
):
    env.refuse(_problem)

AUTHORISATION_LIFETIME = env.number("AUTHORISATION_LIFETIME", default=7 * 24 * 3600, minimum=60)  # seconds
CHALLENGE_LIFETIME = env.number("CHALLENGE_LIFETIME", default=15 * 60, minimum=1)  # seconds
# If True, a payout that the wallet does not cover fails with 20051. If False, the wallet may become negative.
# Payouts of batches that are sent each second, for each business.
PAYOUT_BATCH_RATE = env.number("PAYOUT_BATCH_RATE", default=25, minimum=1, maximum=1_000)
PAYOUT_REQUIRES_BALANCE = env.flag("PAYOUT_REQUIRES_BALANCE", default=not SANDBOX)
# Hours that a change of a business's settlement account waits.
SETTLEMENT_ACCOUNT_COOLING = env.number("SETTLEMENT_ACCOUNT_COOLING", default=24, minimum=1)
# Staff actions that move money need confirmation by a second person.
FOUR_EYES = env.flag("FOUR_EYES", default=not SANDBOX)
# A settlement batch is approved when a bank's statement has its payments' money, or by two people.
RELEASE_REQUIRES_FUNDS = env.flag("RELEASE_REQUIRES_FUNDS", default=not SANDBOX)
# Who sells on the invoices of fees; without a name, none are issued.
SELLER_NAME = env.text("SELLER_NAME", default="Sluice sandbox" if SANDBOX else "")
SELLER_ADDRESS = env.text("SELLER_ADDRESS")
SELLER_TAX_ID = env.text("SELLER_TAX_ID")
# What a dispute past inquiry costs a business, in minor units: by currency, nothing in all others.
DISPUTE_FEES = env.amounts("DISPUTE_FEES", read=Currency, default={})
DISPUTE_FEE_RETURNED = env.flag("DISPUTE_FEE_RETURNED", default=True)  # when it is won or withdrawn
# The smallest total of a payment link, in minor units: by currency, and of all others. Stolen cards are tested with
# small amounts.
LINK_MINIMUM_AMOUNTS = env.amounts("LINK_MINIMUM_AMOUNTS", read=Currency, default={"NGN": 10_000})
LINK_MINIMUM_AMOUNT = 100
# Days that what payers entered is kept: of checkouts that were not paid, and of paid ones.
CHECKOUT_RETENTION = env.number("CHECKOUT_RETENTION", default=30, minimum=2)
CHECKOUT_PAID_RETENTION = env.number("CHECKOUT_PAID_RETENTION", default=400, minimum=2)
# Offer cards at payment links although the business's acquirer has no 3-D Secure.
CHECKOUT_CARD_WITHOUT_3DS = env.flag("CHECKOUT_CARD_WITHOUT_3DS", default=False)
DEFAULT_CURRENCIES = env.currencies("DEFAULT_CURRENCIES", read=Currency, default=("NGN", "USD"))

# Webhooks --------------------------------------------------------------------------------------------

# Seconds before each attempt; as many attempts as there are numbers. Empty: webhooks.sending.retry_schedule.BASE_DELAYS.
WEBHOOK_RETRY_DELAYS = env.numbers("WEBHOOK_RETRY_DELAYS", default=())
WEBHOOK_TIMEOUT = env.number(
    "WEBHOOK_TIMEOUT", default=10, minimum=1
)  # seconds, from DNS lookup to response headers
# Retention in days: of bodies and responses of finished deliveries, and of attempts. Delivery rows are kept.
WEBHOOK_PAYLOAD_RETENTION = env.number("WEBHOOK_PAYLOAD_RETENTION", default=90, minimum=1)
WEBHOOK_ATTEMPT_RETENTION = env.number("WEBHOOK_ATTEMPT_RETENTION", default=365, minimum=1)
# Private networks that webhooks may be sent to. A sandbox may call its own machine.
WEBHOOK_ALLOW_CIDRS = (
    env.networks("WEBHOOK_ALLOW_CIDRS", default=("127.0.0.0/8", "::1/128")) if SANDBOX else []
)

# Logs ------------------------------------------------------------------------------------------------

LOG_LEVEL = env.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), default="INFO")
LOG_REQUESTS = env.flag("LOG_REQUESTS", default=SANDBOX)  # in production, the proxy logs requests
LOGGING_CONFIG = None
logs.configure(level=LOG_LEVEL, as_json=not SANDBOX)

# The hosting bank's code and name are valid ------------------------------------------------------------

_names_its_banks = ACCOUNT_PROVIDER in {"", "paystack"}
if not _names_its_banks and not (
    banks.CODE.fullmatch(VIRTUAL_ACCOUNT_BANK_CODE) and VIRTUAL_ACCOUNT_BANK_NAME
):
    env.refuse(
        "VIRTUAL_ACCOUNT_BANK_CODE must have 3, 5 or 6 digits, and VIRTUAL_ACCOUNT_BANK_NAME must name a bank "
        "that is not in kit/banks.csv."
    )
SHORTEST_SECRET = 32  # characters
if any(len(key) < SHORTEST_SECRET for key in BANK_NOTIFICATION_KEYS):
    env.refuse("BANK_NOTIFICATION_KEYS must have 32 random characters or more, each.")
SHORTEST_WEBHOOK_KEY = 16  # characters; providers make some of these keys themselves
for _name, _keys in (
    ("CHECKOUT_WEBHOOK_KEYS", CHECKOUT_WEBHOOK_KEYS),
    ("PAYSTACK_WEBHOOK_KEYS", PAYSTACK_WEBHOOK_KEYS),
):
    if any(len(key) < SHORTEST_WEBHOOK_KEY for key in _keys):
        env.refuse(f"{_name} must have 16 characters or more, each.")

# Contact of those who find a vulnerability: /.well-known/security.txt; empty: there is no such file
SECURITY_CONTACT = env.text("SECURITY_CONTACT")
if SECURITY_CONTACT and not re.match(
    r"(mailto:[^\s@]+@[^\s@]+|https://[^\s/?#@]+\S*|tel:\+?[0-9-]+)\Z", SECURITY_CONTACT
):
    env.refuse("SECURITY_CONTACT must be a mailto:, https: or tel: address.")

# Metrics ---------------------------------------------------------------------------------------------

METRICS_ALLOW_CIDRS = env.networks("METRICS_ALLOW_CIDRS", default=("127.0.0.0/8", "::1/128"))
METRICS_TOKEN = env.text("METRICS_TOKEN")  # for clients in other networks; empty: no access for them
WORKER_METRICS_ADDRESS = env.text("WORKER_METRICS_ADDRESS")  # host:port; empty: disabled

TRACES_ENDPOINT = env.text("OTEL_EXPORTER_OTLP_ENDPOINT")  # empty: no traces

# Production refuses to start on anything unsafe ------------------------------------------------------

if not SANDBOX:
    if DEBUG:
        env.refuse("DEBUG must be False in production.")
    if SECRET_KEY and (
        len(SECRET_KEY) < SHORTEST_SECRET or "insecure" in SECRET_KEY or "change" in SECRET_KEY
    ):
        env.refuse("SECRET_KEY must be 32 random characters or more in production.")
    if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        env.refuse("DATABASE_URL must name a PostgreSQL database in production.")
    if not PUBLIC_URL.startswith("https://"):
        env.refuse("PUBLIC_URL must be an https:// address in production.")
    if BANK_URL and not BANK_URL.startswith("https://"):
        env.refuse("BANK_URL must be an https:// address in production.")
    if any("sandbox" in connector for connector in (CARD_ACQUIRER, PAYOUT_BANK, ACCOUNT_PROVIDER)):
        env.refuse("CARD_ACQUIRER, PAYOUT_BANK and ACCOUNT_PROVIDER may not be the sandbox's in production.")

env.stop_if_invalid()
