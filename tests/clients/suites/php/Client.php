<?php

declare(strict_types=1);

require_once 'GuzzleHttp/autoload.php';

use GuzzleHttp\Client as Http;
use GuzzleHttp\Exception\GuzzleException;
use GuzzleHttp\RequestOptions;

/** A documented refusal. */
final class Refused extends RuntimeException
{
    public function __construct(public readonly int $status, public readonly string $apiCode, string $message)
    {
        parent::__construct("$status $apiCode: $message");
    }
}

/** Calls the API of the service with a secret key. */
final class Client
{
    private const ATTEMPTS = 3;
    private const SESSIONS = 'entrypoints/chatapp/connection-sessions';
    private Http $http;

    /** @param Closure(int): mixed $sleep */
    public function __construct(string $baseUrl, string $key, private Closure $sleep)
    {
        // On a connection of its own: libcurl repeats a POST by itself when a reused connection ends without an answer.
        $headers = ['X-API-Key' => $key, 'Connection' => 'close'];
        $this->http = new Http(['base_uri' => "$baseUrl/v1/", 'headers' => $headers, 'http_errors' => false, 'timeout' => 10]);
    }

    public function templates(): array { return $this->call('GET', 'message-templates')['templates']; }
    public function template(string $id): array { return $this->call('GET', "message-templates/$id"); }
    public function preview(array ...$filters): int { return $this->call('POST', 'campaigns/audience-preview', $filters ? ['filters' => $filters] : [])['estimatedCount']; }
    public function campaigns(): array { return $this->call('GET', 'campaigns')['campaigns']; }
    public function campaign(string $id): array { return $this->call('GET', "campaigns/$id"); }
    public function create(array $draft): string { return $this->call('POST', 'campaigns', $draft)['campaignId']; }
    public function execution(string $campaign, string $id): array { return $this->call('GET', "campaigns/$campaign/executions/$id"); }
    public function cancel(string $id): void { $this->call('POST', "campaigns/$id/cancel"); }
    public function openSession(): string { return $this->call('POST', self::SESSIONS, [])['sessionId']; }
    public function session(string $id): array { return $this->call('GET', self::SESSIONS . "/$id"); }
    public function entrypoint(string $id): array { return $this->call('GET', "entrypoints/$id")['entrypoint']; }

    /** Starts a campaign once: after a lost answer it reads the campaign before it starts it again. */
    public function start(string $id, array $variables = []): string
    {
        $start = fn (): string => $this->call('POST', "campaigns/$id/start", $variables ? ['commonVariables' => $variables] : [])['executionId'];
        try {
            return $start();
        } catch (GuzzleException) {
            return $this->campaign($id)['executions'][0]['id'] ?? $start();
        }
    }

    /** Returns all messages of a chat, page by page. */
    public function messages(string $chat, int $limit): array
    {
        $all = [];
        $query = ['limit' => $limit];
        do {
            $page = $this->call('GET', "messaging/chats/$chat?" . http_build_query($query));
            array_push($all, ...$page['records']);
            $query['cursor'] = $page['nextCursor'];
        } while ($page['nextCursor'] !== null);
        return $all;
    }

    public function upload(string $name, string $kind, string $content): array
    {
        $part = ['name' => 'files', 'filename' => $name, 'contents' => $content, 'headers' => ['Content-Type' => $kind]];
        return $this->send('POST', 'messaging/media', [RequestOptions::MULTIPART => [$part]])[0];
    }

    private function call(string $method, string $path, ?array $body = null): ?array
    {
        return $this->send($method, $path, $body === null ? [] : [RequestOptions::JSON => (object) $body]);
    }

    /** Tries a call again that is refused with 429 or 503, after the seconds of Retry-After. */
    private function send(string $method, string $path, array $options): ?array
    {
        for ($attempt = 1; ; $attempt++) {
            $response = $this->http->request($method, $path, $options);
            $text = (string) $response->getBody();
            $status = $response->getStatusCode();
            if ($status < 400) {
                return $text === '' ? null : json_decode($text, true, 512, JSON_THROW_ON_ERROR);
            }
            if (!in_array($status, [429, 503], true) || $attempt === self::ATTEMPTS) {
                $body = json_decode($text, true, 512, JSON_THROW_ON_ERROR);
                throw new Refused($status, $body['code'], $body['message']);
            }
            ($this->sleep)(max(1, (int) $response->getHeaderLine('Retry-After')));
        }
    }
}
