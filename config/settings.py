"""All settings, from the table in config/env.py."""

from __future__ import annotations

from urllib.parse import unquote

from apps.checkpoints.storage import places
from apps.core.database import from_url
from config import env, home, oidc
from config.version import VERSION

BASE_DIR = home.ROOT
HOME = home.path()
_servers = home.servers()

DEBUG = env.boolean("DEBUG")
SECRET_KEY = home.secret("SECRET_KEY", "django_secret_key")
ORDER_SIGNING_KEY = home.secret("ORDER_SIGNING_KEY", "order_signing_key")
ALLOWED_HOSTS = env.items("ALLOWED_HOSTS")
LASTGOOD_VERSION = VERSION

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "ninja",
    "apps.core",
    "apps.accounts",
    "apps.nodes",
    "apps.runs",
    "apps.metrics",
    "apps.logs",
    "apps.checkpoints",
    "apps.incidents",
    "apps.alerts",
    "apps.rollbacks",
    "apps.ingest",
    "apps.dashboard",
    "apps.api",
    "workers",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "apps.core.static.CompressedStatic",
    "apps.core.http.SecurityHeaders",
    "apps.dashboard.last_board.LastBoard",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.accounts.middleware.SessionLife",
    "apps.accounts.middleware.LoginRequired",
    "apps.core.http.NoNul",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

OIDC = oidc.provider()
if OIDC:  # docs/adr/0009
    INSTALLED_APPS += ["allauth.account", "allauth.socialaccount"]
    MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware"]

ROOT_URLCONF = "config.urls"
READ_API_URLCONF = "config.urls_api"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.dashboard.context.frame",
            ],
        },
    },
]


DATABASE_URL = env.text("DATABASE_URL") or _servers.database_url
REDIS_URL = env.text("REDIS_URL") or _servers.redis_url
DATABASES = {"default": from_url(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PORT = env.integer("PORT")
WEB_URL = env.text("LASTGOOD_WEB_URL") or _servers.web_url or f"http://127.0.0.1:{PORT}"
PUBLIC_URL = (env.text("PUBLIC_URL") or WEB_URL).rstrip("/")
EVENTS_URL = env.text("EVENTS_URL")
CLUSTER_ZONE = env.zone("CLUSTER_ZONE")
ORDERS_DIR = HOME / "orders"
ORDER_WEBHOOK_URL = env.text("ORDER_WEBHOOK_URL")
ORDER_WEBHOOK_SECRET = env.text("ORDER_WEBHOOK_SECRET")

INGEST_ACK = env.text("INGEST_ACK")
INGEST_MAX_BODY_BYTES = env.integer("INGEST_MAX_BODY_BYTES")
INGEST_MAX_INFLATED_BYTES = env.integer("INGEST_MAX_INFLATED_BYTES")
INGEST_MAX_RATIO = env.integer("INGEST_MAX_RATIO")
INGEST_RATE_BYTES_S = env.integer("INGEST_RATE_BYTES_S")
INGEST_RATE_REQUESTS_S = env.integer("INGEST_RATE_REQUESTS_S")
INGEST_STREAM_MAX_BYTES = env.integer("INGEST_STREAM_MAX_BYTES")
KEEP_QUARANTINE_DAYS = env.integer("KEEP_QUARANTINE_DAYS")
KEEP_UPLOADS_DAYS = env.integer("KEEP_UPLOADS_DAYS")
KEEP_LOGS_DAYS = env.integer("KEEP_LOGS_DAYS")
LOGS_PROJECT_BYTES = env.integer("LOGS_PROJECT_BYTES")
LOGS_DISK_BYTES = env.integer("LOGS_DISK_BYTES")
LOGS_BUCKET = env.text("LOGS_BUCKET")
LOGS_BUCKET_URL = env.text("LOGS_BUCKET_URL")
LOGS_BUCKET_REGION = env.text("LOGS_BUCKET_REGION")
LOGS_BUCKET_KEY_ID = env.text("LOGS_BUCKET_KEY_ID")
LOGS_BUCKET_SECRET = env.text("LOGS_BUCKET_SECRET")
CHECKPOINT_ROOTS = tuple(
    places.parse(one, "CHECKPOINT_ROOTS") for one in env.items("CHECKPOINT_ROOTS")
)
CHECKPOINT_DELETE_ROOTS = tuple(
    places.parse(one, "CHECKPOINT_DELETE_ROOTS") for one in env.items("CHECKPOINT_DELETE_ROOTS")
)
CHECKPOINT_DELETES_PER_HOUR = env.integer("CHECKPOINT_DELETES_PER_HOUR")
CHECKPOINT_DELETE_FILES_S = env.integer("CHECKPOINT_DELETE_FILES_S")
CHECKPOINT_BUCKET_URL = env.text("CHECKPOINT_BUCKET_URL")
CHECKPOINT_BUCKET_REGION = env.text("CHECKPOINT_BUCKET_REGION")
CHECKPOINT_BUCKET_KEY_ID = env.text("CHECKPOINT_BUCKET_KEY_ID")
CHECKPOINT_BUCKET_SECRET = env.text("CHECKPOINT_BUCKET_SECRET")
CHECKPOINT_SCAN_S = env.integer("CHECKPOINT_SCAN_S")
CHECKPOINT_SCAN_MEMORY_BYTES = env.integer("CHECKPOINT_SCAN_MEMORY_BYTES")
CHECKPOINT_SCAN_BYTES_S = env.integer("CHECKPOINT_SCAN_BYTES_S")
CHECKPOINT_HASH_BYTES_S = env.integer("CHECKPOINT_HASH_BYTES_S")
DATA_UPLOAD_MAX_MEMORY_SIZE = INGEST_MAX_BODY_BYTES

ALERT_RECIPIENTS = env.items("ALERT_RECIPIENTS")
ALERT_MAILS_PER_HOUR = env.integer("ALERT_MAILS_PER_HOUR")
ALERT_REPLY_TO = env.text("ALERT_REPLY_TO")
ALERT_TARGETS = env.text("ALERT_TARGETS")
_proxy = env.address("ALERT_PROXY", ("http", "https"))
ALERT_PROXY = _proxy.geturl() if _proxy else ""
_mail = env.address("EMAIL_URL", ("smtp", "smtp+tls", "smtps"))
if _mail:
    EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    EMAIL_HOST = _mail.hostname or ""
    EMAIL_PORT = _mail.port or 25
    EMAIL_HOST_USER = unquote(_mail.username or "")
    EMAIL_HOST_PASSWORD = unquote(_mail.password or "")
    EMAIL_USE_TLS = _mail.scheme == "smtp+tls"
    EMAIL_USE_SSL = _mail.scheme == "smtps"
else:
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = HOME / "mail"
EMAIL_TIMEOUT = env.integer("SMTP_TIMEOUT_S")
DEFAULT_FROM_EMAIL = env.text("EMAIL_FROM")

EVALUATION_PROGRAMS = env.items("EVALUATION_PROGRAMS")
EVALUATION_ENV = env.items("EVALUATION_ENV")
EVALUATIONS_DIR = HOME / "evaluations"
LAUNCHER_TARGETS = env.text("LAUNCHER_TARGETS")
SLURM_SCRIPTS = env.items("SLURM_SCRIPTS")
NODE_SOURCES = env.text("NODE_SOURCES")
NODE_TARGETS = env.text("NODE_TARGETS")

TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES")
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SESSION_ENGINE = "apps.accounts.sessions"
SESSION_COOKIE_AGE = (env.integer("SESSION_DAYS") or 3_650) * 86_400
SESSION_IDLE_S = env.integer("SESSION_IDLE_HOURS") * 3_600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https://")
SESSION_COOKIE_NAME = "lastgood_session"
CSRF_FAILURE_VIEW = "apps.core.http.csrf_failure"
CSRF_COOKIE_NAME = "lastgood_csrf"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MIMETYPES = {".webmanifest": "application/manifest+json"}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "apps.core.logline.LineFormatter"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL")},
    "loggers": {"httpx": {"level": "WARNING"}, "matplotlib": {"level": "WARNING"}},
}
