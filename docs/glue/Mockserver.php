<?php

declare(strict_types=1);

/** The sandbox of one test: a fresh copy of the service with its own address, keys, data and clock. */
final class Mockserver
{
    private const COMMAND = ['mockserver', 'serve', '--port=0', '--freeze=2026-03-01T12:00:00Z', '--failures-dir=.mockserver/failures', '--log-format=off', '--exit-with-parent'];
    private const KEY = 'a key for the tests of one sandbox';
    private const SKIPS = ['PHPUnit\Framework\SkippedTest', 'PHPUnit\Framework\IncompleteTest'];
    private static ?string $server = null;
    /** @var array<string, self> The sandboxes of tests that still run, by name. */
    private static array $open = [];
    public readonly string $id, $baseUrl, $secretKey, $publicKey;
    /** @var array<string, array{resource, resource}> The receivers: a process and its input, by the file of what it has received. */
    private array $receivers = [];

    /** Makes a sandbox with settings of POST /_mock/sandboxes. */
    public function __construct(array $settings = [])
    {
        $made = self::send('POST', self::server(), '/sandboxes', $settings);
        [$this->id, $this->baseUrl, $this->secretKey, $this->publicKey] = [$made['sandboxId'], $made['baseUrl'], $made['secretKey'], $made['publicKey']];
    }

    /** Runs a test with a sandbox. A rule that never fired fails it, and the message of a failure ends with the report. */
    public static function test(string $name, array $settings, callable $test): void
    {
        $mock = self::$open[$name] = new self($settings);
        try {
            $test($mock);
            foreach ($mock->control('GET', '/check')['failures'] as $failure) {
                throw new RuntimeException($failure['message']);
            }
        } catch (Throwable $failure) {
            if (array_filter(self::SKIPS, fn (string $skip): bool => $failure instanceof $skip) === []) {
                // Behind the message: the failure keeps its type, its place and its difference.
                $message = new ReflectionProperty($failure instanceof Error ? Error::class : Exception::class, 'message');
                $message->setValue($failure, $failure->getMessage() . "\n\n" . $mock->report($name, $failure::class . ': ' . $failure->getMessage()));
            }
            throw $failure;
        } finally {
            unset(self::$open[$name]);
            $mock->close();
        }
    }

    /** Runs a command of the control plane. */
    public function control(string $method, string $path, ?array $body = null): array
    {
        return self::send($method, $this->baseUrl, $path, $body);
    }

    /** Returns the report of a failed test, of which the server keeps files; or why there is none. */
    public function report(string $name, string $failure): string
    {
        try {
            return $this->control('POST', '/report?' . http_build_query(['name' => $name, 'failure' => substr($failure, 0, 500)]))['text'];
        } catch (RuntimeException $problem) {
            return "(no report: {$problem->getMessage()})";
        }
    }

    /** Registers an endpoint, and returns a function that returns the events that are signed and recent. */
    public function receive(): callable
    {
        // A process of its own, because PHP runs one thing at a time: it receives while this process waits for a command.
        $file = tempnam(sys_get_temp_dir(), 'received');
        $process = proc_open([PHP_BINARY, __FILE__], [['pipe', 'r'], ['file', $file, 'w'], STDERR], $pipes);
        $this->receivers[$file] = [$process, $pipes[0]];
        $lines = fn (): array => preg_split('/\n/', file_get_contents($file), -1, PREG_SPLIT_NO_EMPTY);
        while ($lines() === [] && proc_get_status($process)['running']) {
            usleep(1000);
        }
        $host = getenv('MOCKSERVER_RECEIVER_HOST') ?: '127.0.0.1'; // by which a server in a container or on another machine reaches this one
        $this->control('POST', '/webhooks', ['url' => "http://$host:{$lines()[0]}/", 'secret' => 'whsec_' . base64_encode(self::KEY)]);
        return fn (): array => array_map(fn (string $line): array => json_decode($line, true), array_slice($lines(), 1));
    }

    /** Prints a port, then each event that arrives there signed and recent, until the process of the tests ends. */
    public static function printEvents(): void
    {
        $socket = stream_socket_server('tcp://' . (getenv('MOCKSERVER_RECEIVER_HOST') ? '0.0.0.0' : '127.0.0.1') . ':0');
        echo parse_url('tcp://' . stream_socket_get_name($socket, false), PHP_URL_PORT), "\n";
        while (true) {
            [$ready, $none] = [[$socket, STDIN], null];
            stream_select($ready, $none, $none, null);
            if (in_array(STDIN, $ready, true)) {
                return;
            }
            $client = stream_socket_accept($socket);
            preg_match_all('/^([\w-]+): *(.*?)\r?$/m', stream_get_line($client, 65536, "\r\n\r\n"), $lines);
            $head = array_combine(array_map('strtolower', $lines[1]), $lines[2]);
            $body = stream_get_contents($client, (int) ($head['content-length'] ?? 0));
            ['webhook-id' => $id, 'webhook-timestamp' => $at, 'webhook-signature' => $given] = $head + ['webhook-id' => '', 'webhook-timestamp' => '', 'webhook-signature' => ''];
            $own = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", self::KEY, true));
            $isSigned = hash_equals($own, $given) && abs(time() - (int) $at) < 300;
            echo $isSigned ? json_encode(json_decode($body)) . "\n" : '';
            fwrite($client, 'HTTP/1.1 ' . ($isSigned ? '204 No Content' : '401 Unauthorized') . "\r\nConnection: close\r\n\r\n");
            fclose($client);
        }
    }

    /** Ends the sandbox and its receivers. */
    public function close(): void
    {
        foreach ($this->receivers as $file => [$process, $input]) {
            fclose($input);
            proc_close($process);
            unlink($file);
        }
        $this->receivers = [];
        try {
            $this->control('DELETE', "/sandboxes/$this->id");
        } catch (RuntimeException) { // it has ended before, with its server
        }
    }

    private static function send(string $method, string $address, string $path, ?array $body): array
    {
        $headers = ['Accept: application/json', 'Content-Type: application/json', 'Authorization: Bearer ' . getenv('MOCKSERVER_TOKEN')];
        $content = $body === null ? '' : json_encode($body ?: (object) [], JSON_THROW_ON_ERROR);
        $options = ['method' => $method, 'header' => $headers, 'content' => $content, 'ignore_errors' => true];
        $stream = @fopen("$address/_mock$path", 'r', false, stream_context_create(['http' => $options]));
        $command = $method . ' ' . strtok($path, '?');
        if ($stream === false) {
            throw new RuntimeException("$command: " . preg_replace('/^.*: /', '', error_get_last()['message']));
        }
        $status = (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
        $answer = json_decode(stream_get_contents($stream), true) ?? [];
        if ($status >= 400 || ($path === '/journal/verify' && !$answer['ok'])) {
            throw new RuntimeException("$command: {$answer['message']}");
        }
        return $answer;
    }

    /** Starts a server that ends with this process, unless MOCKSERVER_SERVER has the address of one. */
    private static function server(): string
    {
        self::$server ??= getenv('MOCKSERVER_SERVER') ?: null;
        if (self::$server === null) {
            $process = @proc_open(self::COMMAND, [['null'], ['pipe', 'w'], STDERR], $pipes);
            if ($process === false || !preg_match('/listens on (\S+)/', (string) fgets($pipes[1]), $address)) {
                throw new RuntimeException('mockserver serve did not start; expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER');
            }
            self::$server = $address[1];
            register_shutdown_function(function () use ($process): void {
                foreach (self::$open as $name => $mock) { // of a test that a fatal error or exit has ended
                    fwrite(STDERR, "$name did not end\n" . $mock->report($name, error_get_last()['message'] ?? 'the process of the test ended') . "\n");
                    $mock->close();
                }
                proc_terminate($process); // or PHP would wait for its end
            });
        }
        return self::$server;
    }
}

if (realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) { // started by `receive`
    Mockserver::printEvents();
}
