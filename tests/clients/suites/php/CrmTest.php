<?php

declare(strict_types=1);

require_once __DIR__ . '/Client.php';
require_once __DIR__ . '/Mockserver.php';

use GuzzleHttp\Exception\GuzzleException;
use PHPUnit\Framework\TestCase;

final class CrmTest extends TestCase
{
    private const DRAFT = ['name' => 'Retorno', 'platform' => 'chatapp', 'templateId' => 'template_revisao_semestral', 'cadence' => 30];
    private const VARIABLES = ['var3' => '31/03'];

    /** Runs a test with a client, whose sleep advances the clock. */
    private static function with(string $name, callable $test): void
    {
        Mockserver::test($name, ['scenario' => 'demo'], function (Mockserver $mock) use ($test): void {
            $sleep = fn (int $seconds): array => $mock->control('POST', '/clock/advance', ['by' => $seconds]);
            $test(new Client($mock->baseUrl, $mock->secretKey, $sleep), $mock);
        });
    }

    private static function refused(string $code, callable $call): void
    {
        try {
            $call();
        } catch (Refused $refusal) {
            self::assertSame($code, $refusal->apiCode);
            return;
        }
        self::fail("expected $code");
    }

    private static function raised(string $class, callable $call): void
    {
        try {
            $call();
        } catch (Throwable $failure) {
            self::assertInstanceOf($class, $failure);
            return;
        }
        self::fail("expected $class");
    }

    private static function calls(Mockserver $mock, string $operation): int
    {
        return count($mock->control('GET', "/journal?operation=$operation")['exchanges']);
    }

    private static function group(string $field, string $value): array
    {
        return ['combinator' => 'and', 'statements' => [['field' => $field, 'operator' => 'equals', 'value' => $value]]];
    }

    public function testTemplatesAreListed(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertCount(6, $client->templates()));
    }

    public function testATemplateHasItsManualVariables(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertSame(['var2'], array_column($client->template('template_semana_clareamento')['commonVariables'], 'key')));
    }

    public function testAnUnknownTemplateIsRefused(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('MESSAGE_TEMPLATE_NOT_FOUND', fn () => $client->template('template_none')));
    }

    public function testAPreviewCountsAllChats(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertGreaterThan(21, $client->preview()));
    }

    public function testAPreviewCountsAFilter(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertSame(21, $client->preview(self::group('chat.platform', 'chatapp'))));
    }

    public function testAnUnknownFilterIsRefused(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('CAMPAIGN_INVALID_FILTERS', fn () => $client->preview(self::group('chat.colour', 'red'))));
    }

    public function testACampaignBeginsAsADraft(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertSame('draft', $client->campaign($client->create(self::DRAFT))['status']));
    }

    public function testATakenNameIsRefused(): void
    {
        self::with(__METHOD__, function (Client $client): void {
            $client->create(self::DRAFT);
            self::refused('CAMPAIGN_NAME_ALREADY_EXISTS', fn () => $client->create(self::DRAFT));
        });
    }

    public function testAnOfficialTemplateIsRefusedOnTheLitePlatform(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH', fn () => $client->create(['platform' => 'chatapp_lite'] + self::DRAFT)));
    }

    public function testCampaignsAreListed(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertSame([$client->create(self::DRAFT)], array_column($client->campaigns(), 'id')));
    }

    public function testAnUnknownCampaignIsRefused(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('CAMPAIGN_NOT_FOUND', fn () => $client->campaign('campaign_none')));
    }

    public function testAStartNeedsItsVariables(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('CAMPAIGN_MISSING_COMMON_VARIABLES', fn () => $client->start($client->create(self::DRAFT))));
    }

    public function testAStartedCampaignSendsAsTimePasses(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $campaign = $client->create(self::DRAFT);
            $execution = $client->start($campaign, self::VARIABLES);
            $mock->control('POST', '/clock/advance', ['by' => '30s']);
            $read = $client->execution($campaign, $execution);
            self::assertSame(16, $read['sentCount'] + $read['failedCount']);
        });
    }

    public function testACampaignCompletes(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $campaign = $client->create(self::DRAFT);
            $client->start($campaign, self::VARIABLES);
            $mock->control('POST', '/clock/advance', ['until' => 'idle']);
            self::assertSame('completed', $client->campaign($campaign)['status']);
        });
    }

    public function testACampaignIsCanceled(): void
    {
        self::with(__METHOD__, function (Client $client): void {
            $campaign = $client->create(self::DRAFT);
            $client->cancel($campaign);
            self::assertSame('canceled', $client->campaign($campaign)['status']);
        });
    }

    /** @dataProvider lost */
    public function testALostAnswerStartsACampaignOnce(string $lost): void
    {
        self::with(__METHOD__ . $lost, function (Client $client, Mockserver $mock) use ($lost): void {
            $mock->control('POST', '/rules', ['on' => 'startCampaign', 'nth' => 1, 'do' => ['drop' => $lost]]);
            $client->start($client->create(self::DRAFT), self::VARIABLES);
            self::assertCount(1, $mock->control('GET', '/ledger')['executions']);
        });
    }

    public static function lost(): array
    {
        return [['before'], ['after']];
    }

    public function testALostReadIsAnErrorOfTheNetwork(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $mock->control('POST', '/rules', ['on' => 'listCampaigns', 'nth' => 1, 'do' => ['drop' => 'before']]);
            self::raised(GuzzleException::class, fn () => $client->campaigns());
            self::assertSame(1, self::calls($mock, 'listCampaigns'));
        });
    }

    public function testACutAnswerIsAnError(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $mock->control('POST', '/rules', ['on' => 'listTemplates', 'nth' => 1, 'do' => ['truncate' => 20]]);
            self::raised(GuzzleException::class, fn () => $client->templates());
        });
    }

    public function testACallIsTriedAgainAfterA429(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $error = ['code' => 'RATE_LIMIT_EXCEEDED', 'retryAfter' => 30];
            $mock->control('POST', '/rules', ['on' => 'listTemplates', 'nth' => 1, 'do' => ['error' => $error]]);
            $client->templates();
            self::assertSame(2, self::calls($mock, 'listTemplates'));
            self::assertSame('2026-03-01T12:00:30.000Z', $mock->control('GET', '/clock')['now']);
        });
    }

    public function testACallIsTriedAgainAfterA503(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $mock->control('POST', '/rules', ['on' => 'listTemplates', 'times' => 2, 'do' => ['reply' => ['status' => 503, 'body' => (object) []]]]);
            $client->templates();
            self::assertSame(3, self::calls($mock, 'listTemplates'));
        });
    }

    public function testTheClientGivesUpAfterThreeAttempts(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $mock->control('POST', '/rules', ['on' => 'listTemplates', 'do' => ['error' => 'RATE_LIMIT_EXCEEDED']]);
            self::refused('RATE_LIMIT_EXCEEDED', fn () => $client->templates());
            self::assertSame(3, self::calls($mock, 'listTemplates'));
        });
    }

    public function testAWrongKeyIsRefused(): void
    {
        self::with(__METHOD__, fn (Client $client, Mockserver $mock) => self::refused('API_KEY_INVALID', fn () => (new Client($mock->baseUrl, 'sk_wrong', fn () => null))->templates()));
    }

    public function testASuspendedTenantIsRefused(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $mock->control('PATCH', '/tenants/tenant_default', ['subscription' => 'suspended']);
            self::refused('SUBSCRIPTION_INACTIVE', fn () => $client->templates());
        });
    }

    public function testPagesJoinToTheWholeChat(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            self::assertSame($client->messages('chat_helena', 100), $client->messages('chat_helena', 5));
            self::assertGreaterThanOrEqual(3, self::calls($mock, 'listMessages'));
        });
    }

    public function testAFileIsUploaded(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::assertTrue($client->upload('prices.txt', 'text/plain', 'Limpeza: 180')['success']));
    }

    public function testAFileWithAWrongContentIsRefused(): void
    {
        self::with(__METHOD__, fn (Client $client) => self::refused('MEDIA_INVALID_FORMAT', fn () => $client->upload('face.png', 'image/png', 'no picture')));
    }

    public function testASessionExpiresAfterTwentyMinutes(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $session = $client->openSession();
            $mock->control('POST', '/clock/advance', ['by' => '20m']);
            self::assertSame('expired', $client->session($session)['status']);
        });
    }

    public function testACompletedSessionSendsASignedEvent(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $events = $mock->receive();
            $session = $client->openSession();
            $mock->control('POST', "/sessions/$session/complete", ['name' => 'Recepção 2']);
            self::assertSame([$session], array_map(fn (array $event): string => $event['data']['sessionId'], $events()));
            self::assertSame('Recepção 2', $client->entrypoint($client->session($session)['entrypoint']['id'])['name']);
        });
    }

    public function testAForgedEventIsRefused(): void
    {
        self::with(__METHOD__, function (Client $client, Mockserver $mock): void {
            $events = $mock->receive();
            $mock->control('POST', '/rules', ['on' => 'delivery', 'nth' => 1, 'do' => ['deliver' => ['forge' => 'wrong-secret']]]);
            $mock->control('POST', "/sessions/{$client->openSession()}/fail", ['reason' => 'phone_in_use']);
            self::assertCount(1, $events());
        });
    }
}
